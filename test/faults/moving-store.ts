import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writePidFile } from '../../infra/supervision/pid-file.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { mainFile, type Program, startProgram, withTempDirectory } from '../fixtures/child-process.ts';
import { openAndUse, type Platform } from './platform.ts';

const RESTART_DELAY_MS = 200;

/**
 * Runs a store that is not embedded. Each time it ends, it is started again on the other of two ports, as the leader of
 * a cluster moves to another host. Its pid file is where that of an embedded store would be, so the functions that kill
 * or freeze a process of the platform find it.
 */
const startMovingStore = async (dir: string): Promise<{ url: string; close: () => Promise<void> }> => {
  const ports = [await freePort(), await freePort()] as const;
  const run = join(dir, 'data', 'run');
  mkdirSync(run, { recursive: true, mode: 0o700 });
  let program: Program | undefined;
  let isClosed = false;
  const keepRunning = async (): Promise<void> => {
    for (let starts = 0; !isClosed; starts++) {
      const address = ['--dir', join(dir, 'moving-store'), '--port', String(ports[starts % 2])];
      program = startProgram(process.execPath, [mainFile, 'store', 'serve', ...address, '--open']);
      writePidFile(join(run, 'store.pid'), program.child.pid!);
      await program.ended;
      await sleep(RESTART_DELAY_MS);
    }
  };
  const running = keepRunning();
  return {
    url: `esdb://127.0.0.1:${ports[0]},127.0.0.1:${ports[1]}?tls=false`,
    close: async () => {
      isClosed = true;
      await program?.stop();
      await running;
    },
  };
};

/** Runs a test with a platform whose event store has a URL of two hosts. Only one of them answers at a time. */
export const withMovingStore = (use: (platform: Platform) => Promise<void>, variables: NodeJS.ProcessEnv = {}): Promise<void> =>
  withTempDirectory(async (dir) => {
    const store = await startMovingStore(dir);
    try {
      await openAndUse(dir, use, { ...variables, EVENTSTORE_URL: store.url });
    } finally {
      await store.close();
    }
  });
