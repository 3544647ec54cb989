import { defineCommand } from 'citty';
import { finish } from '../../processes/exit.ts';
import { rejectUnknownArguments, VERBOSE_OPTION } from '../arguments.ts';
import { readConfig, runOnPlatform } from '../command-runs.ts';

export const deliveriesCommand = defineCommand({
  meta: { name: 'deliveries', description: 'List webhook deliveries with the reason why they failed, or send them to runners again' },
  subCommands: {
    list: defineCommand({
      meta: { name: 'list', description: 'Print the newest deliveries, and why they failed (with ANNALS_URL and ANNALS_KEY)' },
      args: {
        failed: { type: 'boolean', description: 'Only deliveries that failed at a runner and are not acknowledged' },
        tenant: { type: 'string', description: 'The id of the tenant, if the user of ANNALS_KEY has several' },
        limit: { type: 'string', description: 'How many deliveries at most, up to 200', default: '50' },
      },
      setup: rejectUnknownArguments,
      run: async ({ args: { failed, tenant, limit } }) => {
        const { annalsUrl, annalsKey } = await readConfig('annalsUrl', 'annalsKey');
        const { listDeliveries } = await import('./list-deliveries.ts');
        await finish(await listDeliveries({ url: annalsUrl!, key: annalsKey! }, { failed: failed === true, tenant, limit }));
      },
    }),
    redeliver: defineCommand({
      meta: { name: 'redeliver', description: 'Send deliveries that were given up to their agents again, each once' },
      args: {
        outcome: { type: 'string', description: 'Which deliveries: dead (those that were given up)', required: true },
        since: {
          type: 'string',
          description: 'Only deliveries that were given up since this time, such as 2026-11-21T10:00:00Z',
          required: true,
        },
        tenant: { type: 'string', description: 'Only for this tenant (its id)' },
        'dry-run': { type: 'boolean', description: 'Only print which deliveries would be sent' },
        verbose: VERBOSE_OPTION,
      },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const { redeliverDeliveries } = await import('./redeliver-dead.ts');
        const { outcome, since, tenant } = args;
        await runOnPlatform((config) =>
          redeliverDeliveries(config, { outcome, since, tenant, dryRun: args['dry-run'] === true, verbose: args.verbose === true }),
        );
      },
    }),
  },
});

export const redriveCommand = defineCommand({
  meta: { name: 'redrive', description: 'Send messages again that the message broker has lost, for example with its files' },
  args: {
    since: { type: 'string', description: 'Only deliveries since this time, such as 2026-11-21T10:00:00Z (default: of the last 14 days)' },
    tenant: { type: 'string', description: 'Only for this tenant (its id)' },
    'dry-run': { type: 'boolean', description: 'Only print which messages would be sent' },
    verbose: VERBOSE_OPTION,
  },
  setup: rejectUnknownArguments,
  run: async ({ args }) => {
    const { redrive } = await import('./redrive-lost.ts');
    const { since, tenant } = args;
    await runOnPlatform((config) => redrive(config, { since, tenant, dryRun: args['dry-run'] === true, verbose: args.verbose === true }));
  },
});
