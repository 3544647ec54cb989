import { defineCommand } from 'citty';
import { JSON_OPTION, rejectUnknownArguments, VERBOSE_OPTION } from '../arguments.ts';
import { runOnPlatform } from '../command-runs.ts';

export const blobsCommand = defineCommand({
  meta: { name: 'blobs', description: 'Verify the stored files, and remove those that no event names' },
  subCommands: {
    gc: defineCommand({
      meta: { name: 'gc', description: 'Find stored files that no event names; only --delete removes them' },
      args: {
        delete: { type: 'boolean', description: 'Remove the files that are found' },
        grace: {
          type: 'string',
          description: 'Only files that are older than this many hours: a file is stored before the event that names it',
          default: '24',
        },
        json: JSON_OPTION,
      },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const { collectBlobs, graceOf } = await import('./collect-blobs.ts');
        const options = { graceHours: graceOf(args.grace), isDryRun: args.delete !== true, json: args.json === true };
        await runOnPlatform((config) => collectBlobs(config, options));
      },
    }),
    verify: defineCommand({
      meta: { name: 'verify', description: 'Read every file that an event names, and verify its bytes' },
      args: { json: JSON_OPTION, verbose: VERBOSE_OPTION },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const { checkBlobs } = await import('./check-blobs.ts');
        await runOnPlatform((config) => checkBlobs(config, { json: args.json === true, verbose: args.verbose === true }));
      },
    }),
  },
});
