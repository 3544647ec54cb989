import { defineCommand } from 'citty';
import { finish } from '../../processes/exit.ts';
import { rejectUnknownArguments, VERBOSE_OPTION } from '../arguments.ts';
import { readConfig } from '../command-runs.ts';

export const backupCommand = defineCommand({
  meta: { name: 'backup', description: 'Copy the event store and the stored files while the platform runs' },
  args: { to: { type: 'string', description: 'New directory to write the copies to', required: true } },
  setup: rejectUnknownArguments,
  run: async ({ args }) => {
    const { backup } = await import('./backup.ts');
    await finish(await backup(await readConfig(), args.to));
  },
});

export const restoreCommand = defineCommand({
  meta: { name: 'restore', description: 'Copy a backup into ANNALS_DATA, which must not contain a platform yet, and verify it' },
  args: { from: { type: 'string', description: 'Directory that annals backup has written', required: true }, verbose: VERBOSE_OPTION },
  setup: rejectUnknownArguments,
  run: async ({ args }) => {
    const { restore } = await import('./restore.ts');
    await finish(await restore({ ...(await readConfig()), verbose: args.verbose === true }, args.from));
  },
});
