import { defineCommand } from 'citty';
import { PLATFORM } from '../../../domain/event.ts';
import { isId25 } from '../../../domain/id.ts';
import { JSON_OPTION, rejectUnknownArguments, usageError, VERBOSE_OPTION } from '../arguments.ts';
import { runOnPlatform } from '../command-runs.ts';

export const vaultCommand = defineCommand({
  meta: { name: 'vault', description: 'Show and rotate the keys that encrypt contents and secrets' },
  subCommands: {
    status: defineCommand({
      meta: { name: 'status', description: 'Show the keys, their age, and the rotations that are in progress' },
      args: { json: JSON_OPTION, verbose: VERBOSE_OPTION },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const { showVault } = await import('./vault-status.ts');
        await runOnPlatform((config) => showVault(config, { json: args.json === true, verbose: args.verbose === true }));
      },
    }),
    rotate: defineCommand({
      meta: { name: 'rotate', description: 'Replace the master key, or data keys of tenants, while requests are served' },
      args: {
        master: { type: 'boolean', description: 'Replace the master key' },
        finish: {
          type: 'boolean',
          description: 'With --master and EVENTSTORE_URL: confirm that every machine has the next key, and stop using the old one',
        },
        tenant: { type: 'string', description: 'Replace the data key of this tenant (its id, or platform)' },
        due: { type: 'boolean', description: 'Replace the data keys that are older than 90 days' },
        verbose: VERBOSE_OPTION,
      },
      setup: rejectUnknownArguments,
      run: async ({ args: { master = false, finish = false, tenant, due = false, verbose = false } }) => {
        if ([master, tenant !== undefined, due].filter(Boolean).length !== 1)
          throw usageError('say what to rotate: --master, --tenant <id> or --due');
        if (finish && !master) throw usageError('--finish is only used with --master');
        if (tenant !== undefined && tenant !== PLATFORM && !isId25(tenant)) throw usageError('--tenant must be a tenant id, or platform');
        const { rotateDataKeys, rotateMasterKey } = await import('./rotate-vault.ts');
        await runOnPlatform((config) => (master ? rotateMasterKey(config, finish) : rotateDataKeys(config, { tenant, verbose })));
      },
    }),
  },
});
