import { defineCommand } from 'citty';
import { finish } from '../../processes/exit.ts';
import { rejectUnknownArguments, usageError } from '../arguments.ts';
import { readClientConfig } from '../read-client-config.ts';

type Named = { readonly provider?: string | undefined; readonly event?: string | undefined };

/** Splits `github.push` into provider and event, unless the event is given as its own word. */
const splitName = ({ provider, event }: Named): Named => {
  const [, name, rest] = /^([^.]+)\.(.+)$/.exec(provider ?? '') ?? [];
  if (name === undefined) return { provider, event };
  if (event !== undefined) throw usageError(`Name the event once: as ${provider}, or as ${event}`);
  return { provider: name, event: rest };
};

export const triggerCommand = defineCommand({
  meta: { name: 'trigger', description: 'Send a signed sample of a provider to a webhook integration' },
  args: {
    provider: {
      type: 'positional',
      description: 'The provider, such as github, or provider and event, such as github.push',
      required: false,
    },
    event: { type: 'positional', description: "The provider's name of the event; without it, its ping or first sample", required: false },
    integration: { type: 'string', description: 'The id of the integration; the platform signs (with ANNALS_URL and ANNALS_KEY)' },
    tenant: { type: 'string', description: 'The id of the tenant, if the user of ANNALS_KEY has several' },
    url: { type: 'string', description: 'Instead of --integration: the URL of the integration' },
    secret: { type: 'string', description: 'With --url: the secret of the integration' },
    list: { type: 'boolean', description: 'Only print the events that have samples' },
  },
  setup: rejectUnknownArguments,
  run: async ({ args }) => {
    const { integration, tenant, list } = args;
    const { provider, event } = splitName(args);
    const { listSamples, triggerDelivery } = await import('./trigger-delivery.ts');
    if (list) {
      listSamples(provider);
      return finish(0);
    }
    if (provider === undefined) throw usageError('Name a provider; --list shows them');
    if (integration === undefined) return finish(await triggerDelivery({ provider, event, url: args.url, secret: args.secret }));
    if (args.url !== undefined || args.secret !== undefined) throw usageError('--integration cannot be combined with --url and --secret');
    const { annalsUrl: url, annalsKey: key } = await readClientConfig();
    const { triggerIntegration } = await import('./trigger-integration.ts');
    return finish(await triggerIntegration({ url, key }, { provider, event, integration, tenant }));
  },
});
