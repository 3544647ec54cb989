import { defineCommand } from 'citty';
import { finish } from '../../processes/exit.ts';
import { rejectUnknownArguments, usageError } from '../arguments.ts';
import { runOnPlatform } from '../command-runs.ts';

export const keysCommand = defineCommand({
  meta: { name: 'keys', description: 'Create, list and revoke API keys of the platform, without having one' },
  subCommands: {
    create: defineCommand({
      meta: { name: 'create', description: 'Create an API key of a super-admin and print it once' },
      args: {
        'super-admin': { type: 'boolean', description: 'Confirm that the key may do everything (required)' },
        name: { type: 'string', description: 'Name of the key, as lists and the audit log show it', default: 'Key from the command line' },
      },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        if (args['super-admin'] !== true) throw usageError('--super-admin is missing: this command creates no other keys');
        const { createAdminKey } = await import('./admin-keys.ts');
        await runOnPlatform((config) => createAdminKey(config, args.name));
      },
    }),
    list: defineCommand({
      meta: { name: 'list', description: 'List the API keys of the platform' },
      setup: rejectUnknownArguments,
      run: async () => {
        const { listAdminKeys } = await import('./admin-keys.ts');
        await runOnPlatform(listAdminKeys);
      },
    }),
    revoke: defineCommand({
      meta: { name: 'revoke', description: 'Revoke an API key of the platform' },
      args: { id: { type: 'positional', description: 'Id of the API key, as keys list shows it', required: true } },
      setup: rejectUnknownArguments,
      run: async ({ args: { id } }) => {
        const { revokeAdminKey } = await import('./admin-keys.ts');
        await runOnPlatform((config) => revokeAdminKey(config, id));
      },
    }),
    new: defineCommand({
      meta: { name: 'new', description: 'Print a random well-formed API key, for ANNALS_ADMIN_KEY' },
      setup: rejectUnknownArguments,
      run: async () => {
        const { printNewKey } = await import('./admin-keys.ts');
        await finish(printNewKey());
      },
    }),
  },
});
