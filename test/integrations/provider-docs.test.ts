import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, fixture } from 'uvu/assert';
import type { RetrySchedule } from '../../domain/integrations/conventions/provider-definition.ts';
import { anyHeader } from '../../domain/integrations/header-name.ts';
import { PROVIDERS, type Provider } from '../../domain/integrations/provider.ts';
import { presetOf } from '../../domain/integrations/provider-preset.ts';
import { sameBytesAge } from '../../domain/integrations/retry-schedule.ts';
import { root } from '../fixtures/child-process.ts';
import { RETRIES } from '../fixtures/provider-payloads.ts';
import { delaysOf, providerGuide, timeOf } from './provider-guide.ts';

const docs = readFileSync(join(root, 'docs/webhook-providers.md'), 'utf8');

/** Returns the rows of the table with the header row `head`, each as its cells. */
const rowsOf = (head: string): string[][] =>
  docs
    .split(`\n${head}\n`)[1]!
    .split('\n\n')[0]!
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

const presetFor = (provider: Provider) => presetOf({ provider, delivery_id_source: null, options: {} });

const windowOf = (provider: keyof typeof RETRIES): string => {
  const { scheme, bodyTimestamp } = presetFor(provider);
  if (bodyTimestamp) return `${sameBytesAge(RETRIES[provider]!)} s`;
  return scheme.timestamp ? `${scheme.timestamp.toleranceSeconds} s` : 'no time is signed';
};

test('the table of attempts says for each provider what the platform assumes about its attempts', () =>
  equal(
    rowsOf('| `provider` | further attempts, each after | by hand within | signature of an attempt | age that is accepted |'),
    (Object.entries(RETRIES) as [Exclude<Provider, 'custom_hmac'>, RetrySchedule][]).map(([provider, schedule]) => [
      `\`${provider}\``,
      delaysOf(schedule),
      schedule.byHandSeconds > 0 ? timeOf(schedule.byHandSeconds) : 'no',
      schedule.signs,
      windowOf(provider),
    ]),
  ));

test('the table of headers lists the delivery ids of each provider', () =>
  equal(
    rowsOf('| `provider` | delivery id |'),
    PROVIDERS.map((provider) => [provider, presetFor(provider).delivery.headers] as const)
      .filter(([, headers]) => headers.length > 0)
      .map(([provider, headers]) => [`\`${provider}\``, anyHeader(headers)]),
  ));

test('docs/provider-setup.md says what the definitions of the providers say; UPDATE_DOCS=1 writes it again', () => {
  const file = join(root, 'docs/provider-setup.md');
  if (process.env.UPDATE_DOCS === '1') writeFileSync(file, providerGuide());
  fixture(readFileSync(file, 'utf8'), providerGuide());
});

test.run();
