import { test } from 'uvu';
import { equal } from 'uvu/assert';
import { PROVIDERS } from '../../domain/webhooks/provider.ts';
import { filesOf, withoutComments } from '../architecture/source-files.ts';

/** The folders whose code is the same for all providers. */
const FOLDERS = ['domain/webhooks', 'commands/webhooks', 'projections/webhooks', 'api/webhooks', 'api/console', 'infra/webhooks'];

/** The files that name a provider, because they are about it alone. */
const MAY_NAME: Readonly<Record<string, readonly string[]>> = {
  'domain/webhooks/provider.ts': PROVIDERS,
  // The provider of an unknown integration.
  'domain/webhooks/provider-preset.ts': ['github'],
  'domain/webhooks/integration.ts': ['github', 'custom_hmac'],
  'domain/webhooks/identity-labels.ts': ['custom_hmac'],
  'domain/webhooks/sample-delivery.ts': ['custom_hmac'],
  // Limits of the API of Slack, at which agents answer.
  'commands/webhooks/apply-guardrails.ts': ['slack'],
  'commands/webhooks/apply-rates.ts': ['slack'],
  'commands/webhooks/release-held.reactor.ts': ['slack'],
  // The only one whose delivery id can be chosen.
  'api/console/forms/integrations.ts': ['custom_hmac'],
  'api/webhooks/signature-example.ts': ['custom_hmac'],
  // The first integration that the console proposes.
  'api/console/pages/start.ts': ['github', 'custom_hmac'],
};

const namesIn = (file: string): string[] => {
  const code = withoutComments(file).replace(/\b(?:examples: \[|placeholder: )'[^']*'/g, '');
  return PROVIDERS.filter((provider) => new RegExp(`'${provider}'|^ +${provider}:`, 'm').test(code));
};

test('a provider is named only in its own file, in the list, and in the files that this test lists', () =>
  equal(
    FOLDERS.flatMap(filesOf)
      .filter((file) => !file.startsWith('domain/webhooks/providers/'))
      .flatMap((file) =>
        namesIn(file)
          .filter((name) => !(MAY_NAME[file] ?? []).includes(name))
          .map((name) => `${file} names ${name}`),
      ),
    [],
  ));

test.run();
