import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, match } from 'uvu/assert';
import { backup } from '../../infra/cli/backup/backup.ts';
import { loadConfig } from '../../infra/config.ts';
import { serveStore } from '../../infra/eventstore/embedded/rpc/serve-store.ts';
import { spoolDirectory } from '../../infra/spool/spool-slots.ts';
import { openSpoolStorage } from '../../infra/spool/spool-storage.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';

const { dir } = createTempDirectory();
const lines: string[] = [];
const print = (line: string): void => void lines.push(line);

/** Makes a backup of the data directory. @returns the lines that it prints */
const backUp = async (to: string): Promise<string[]> => {
  const printed: string[] = [];
  const { log } = console;
  console.log = (line: string) => void printed.push(line);
  try {
    is(await backup(loadConfig({ ANNALS_DATA: dir }), join(dir, to)), 0);
  } finally {
    console.log = log;
  }
  return printed;
};

test('the embedded event store says at its start that it is one node for this machine only', async () => {
  const store = await serveStore({ dir: join(dir, 'store'), port: 0, open: false, print });
  await store.close();
  match(lines.at(-1)!, /^store ready esdb:.* \(one node, for this machine only, /);
});

test('a backup says that it has no master key, and how many deliveries of the spool it lacks', async () => {
  const aboutSpool = (printed: readonly string[]): string[] => printed.filter((line) => line.includes(spoolDirectory(dir)));
  const withoutSpool = await backUp('first');
  equal(aboutSpool(withoutSpool), []);
  match(withoutSpool.join('\n'), 'not copied: the master key');
  const storage = openSpoolStorage({ dir: spoolDirectory(dir), key: { kid: 'kid', key: randomBytes(32) } });
  const entry = (delivery: string) => ({
    ...{ tenant: 't', integration: 'i', delivery, eventId: delivery, at: Date.now(), facts: '{}', body: new Uint8Array(1) },
  });
  storage.put([entry('a'), entry('b')]);
  const [line, ...others] = aboutSpool(await backUp('second'));
  storage.close();
  match(line!, /^not copied: 2 deliveries in /);
  equal(others, []);
  is(existsSync(join(dir, 'second', 'spool')), false);
});

test.run();
