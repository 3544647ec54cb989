import { defineCommand } from 'citty';
import { finish } from '../processes/exit.ts';
import { rejectUnknownArguments, usageError } from './arguments.ts';

export const triggerCommand = defineCommand({
  meta: { name: 'trigger', description: 'Send a signed sample of a provider to a webhook integration' },
  args: {
    provider: { type: 'positional', description: 'The provider, such as github', required: false },
    event: { type: 'positional', description: "The provider's name of the event; without it, its ping or first sample", required: false },
    url: { type: 'string', description: 'The URL of the integration' },
    secret: { type: 'string', description: 'The secret of the integration' },
    list: { type: 'boolean', description: 'Only print the events that have samples' },
  },
  setup: rejectUnknownArguments,
  run: async ({ args }) => {
    const { listSamples, triggerDelivery } = await import('./trigger-delivery.ts');
    const { provider, event, url, secret, list } = args;
    if (list) {
      listSamples(provider);
      return finish(0);
    }
    if (provider === undefined) throw usageError('Name a provider; --list shows them');
    return finish(await triggerDelivery({ provider, event, url, secret }));
  },
});
