import { test } from 'uvu';
import { equal } from 'uvu/assert';
import { PROVIDERS } from '../../domain/integrations/provider.ts';
import { filesOf, withoutComments } from '../architecture/source-files.ts';

/** The folders whose code is the same for all providers. */
const FOLDERS = [
  ...['domain', 'commands', 'projections', 'api'].flatMap((room) =>
    ['deliveries', 'guardrails', 'integrations'].map((area) => `${room}/${area}`),
  ),
  ...['domain/bodies', 'api/console', 'infra/deliveries'],
  ...['domain', 'commands', 'projections', 'api', 'infra'].map((room) => `${room}/skill-calls`),
];

/** The files that name a provider, because they are about it alone. */
const MAY_NAME: Readonly<Record<string, readonly string[]>> = {
  'domain/integrations/provider.ts': PROVIDERS,
  // The provider of an unknown integration.
  'domain/integrations/provider-preset.ts': ['github'],
  'domain/integrations/integration.ts': ['github', 'custom_hmac'],
  'domain/integrations/identity-labels.ts': ['custom_hmac'],
  'domain/integrations/sample-delivery.ts': ['custom_hmac'],
  // Limits of the API of Slack, at which agents answer.
  'commands/deliveries/apply-guardrails.ts': ['slack'],
  'commands/deliveries/apply-rates.ts': ['slack'],
  'commands/deliveries/release-held.reactor.ts': ['slack'],
  // The only one whose delivery id can be chosen.
  'api/console/forms/integrations.ts': ['custom_hmac'],
  'api/integrations/signature-example.ts': ['custom_hmac'],
  // The first integration that the console proposes.
  'api/operations/console/start.ts': ['github', 'custom_hmac'],
};

const namesIn = (file: string): string[] => {
  const code = withoutComments(file).replace(/\b(?:examples: \[|placeholder: )'[^']*'/g, '');
  return PROVIDERS.filter((provider) => new RegExp(`'${provider}'|^ +${provider}:`, 'm').test(code));
};

test('a provider is named only in its own file, in the list, and in the files that this test lists', () =>
  equal(
    FOLDERS.flatMap(filesOf)
      .filter((file) => !file.startsWith('domain/integrations/providers/'))
      .flatMap((file) =>
        namesIn(file)
          .filter((name) => !(MAY_NAME[file] ?? []).includes(name))
          .map((name) => `${file} names ${name}`),
      ),
    [],
  ));

test.run();
