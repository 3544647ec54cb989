import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { defineCommand } from 'citty';
import { finish } from '../../processes/exit.ts';
import { JSON_OPTION, portOf, rejectUnknownArguments, VERBOSE_OPTION } from '../arguments.ts';
import { readConfig, runService } from '../command-runs.ts';
import { assertStoreIsEmbedded, type EmbeddedUse } from './embedded-store.ts';

const dirOption = { type: 'string', description: 'Directory of the store' } as const;
const requiredDir = { ...dirOption, required: true } as const;
const defaultDir = { ...dirOption, description: 'Directory of the store (default: the directory store in ANNALS_DATA)' } as const;

/**
 * Returns the directory of the store: that of the option --dir or, without it, that of the embedded store.
 * @throws Error with a one-line message for the operator if the platform's event store is not embedded
 */
const dirOf = async (dir: string | undefined, use: EmbeddedUse): Promise<string> => {
  if (dir !== undefined) return dir;
  const config = await readConfig();
  assertStoreIsEmbedded(config, use, ', or name the directory of a store with --dir');
  return join(config.annalsData, 'store');
};

export const storeCommand = defineCommand({
  meta: { name: 'store', description: 'Run and maintain the embedded event store' },
  subCommands: {
    serve: defineCommand({
      meta: { name: 'serve', description: 'Run only the event store' },
      args: {
        dir: requiredDir,
        port: { type: 'string', description: 'Port on 127.0.0.1', required: true },
        open: { type: 'boolean', description: 'Accept clients without the secret (for tests)' },
      },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const port = portOf(args.port);
        const { serveStore } = await import('../../eventstore/embedded/rpc/serve-store.ts');
        // Keep V8's space for new objects small: they are short-lived, and the default of 2 x 16 MiB is not faster.
        setFlagsFromString('--semi-space-growth-factor=1');
        await runService(() => serveStore({ dir: args.dir, port, open: args.open === true }));
      },
    }),
    verify: defineCommand({
      meta: { name: 'verify', description: 'Check every record and index for damage' },
      args: { dir: defaultDir, json: JSON_OPTION, verbose: VERBOSE_OPTION },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const { verifyStore } = await import('../../eventstore/embedded/verify-store.ts');
        await finish(await verifyStore(await dirOf(args.dir, 'verify'), { json: args.json === true, verbose: args.verbose === true }));
      },
    }),
    backup: defineCommand({
      meta: { name: 'backup', description: 'Copy the store while it runs' },
      args: { dir: defaultDir, to: { type: 'string', description: 'Directory to write the copy to', required: true } },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const { backupStore } = await import('../../eventstore/embedded/backup-store.ts');
        await finish(await backupStore(await dirOf(args.dir, 'back up'), args.to));
      },
    }),
    scavenge: defineCommand({
      meta: { name: 'scavenge', description: 'Free the disk space of deleted and expired events' },
      args: { dir: defaultDir },
      setup: rejectUnknownArguments,
      run: async ({ args }) => {
        const { scavengeStore } = await import('../../eventstore/embedded/scavenge-store.ts');
        await finish(await scavengeStore(await dirOf(args.dir, 'scavenge')));
      },
    }),
  },
});
