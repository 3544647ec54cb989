import { defineCommand } from 'citty';
import { JSON_OPTION, rejectUnknownArguments, usageError } from './arguments.ts';
import { runOnPlatform } from './command-runs.ts';

export const vaultCommand = defineCommand({
  meta: { name: 'vault', description: 'Show and rotate the keys that encrypt contents and secrets' },
  subCommands: {
    status: defineCommand({
      meta: { name: 'status', description: 'Show the keys, their age, and the rotations that are in progress' },
      args: { json: JSON_OPTION },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const { showVault } = await import('./vault-status.ts');
        await runOnPlatform((config) => showVault(config, { json: args.json === true }));
      },
    }),
    rotate: defineCommand({
      meta: { name: 'rotate', description: 'Replace the master key while requests are served' },
      args: {
        master: { type: 'boolean', description: 'Replace the master key' },
        finish: {
          type: 'boolean',
          description: 'With --master and EVENTSTORE_URL: confirm that every machine has the next key, and give up the old one',
        },
      },
      setup: rejectUnknownArguments,
      run: async ({ args: { master = false, finish = false } }) => {
        if (!master) throw usageError('say what to rotate: --master');
        const { rotateMasterKey } = await import('./rotate-vault.ts');
        await runOnPlatform((config) => rotateMasterKey(config, finish));
      },
    }),
  },
});
