import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readPidFile } from '../../infra/supervision/pid-file.ts';
import { eventually } from '../fixtures/child-process.ts';
import { scrape, seriesSum } from '../fixtures/scrape.ts';
import { limitFileSize } from '../fixtures/store-process.ts';
import type { ProcessName } from './platform-processes.ts';
import type { KillablePlatform } from './running-platform.ts';

/** The ways in which the event store fails: it stops answering, or it is killed each time it starts. */
export type OutageKind = 'frozen' | 'killed';

const DRAIN_TIMEOUT_MS = 600_000;

const pidOf = ({ data }: KillablePlatform, name: ProcessName): number | undefined => readPidFile(join(data, 'run', `${name}.pid`))?.pid;

/** Suspends a process. @returns a function that lets it continue */
export const freeze = (platform: KillablePlatform, name: ProcessName): (() => void) => {
  const pid = pidOf(platform, name)!;
  process.kill(pid, 'SIGSTOP');
  return () => {
    // By now, the process may have been killed and replaced. Resume it only if it is still the same.
    if (pidOf(platform, name) === pid) process.kill(pid, 'SIGCONT');
  };
};

/** Kills each process of this name as soon as it exists. @returns a function that stops the killing */
export const killAgainAndAgain = (platform: KillablePlatform, name: ProcessName): (() => void) => {
  const kill = (): void => {
    const pid = pidOf(platform, name);
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  };
  kill();
  const timer = setInterval(kill, 20);
  return () => clearInterval(timer);
};

/** Stops the event store from answering. @returns a function that ends the outage */
export const breakStore = (platform: KillablePlatform, kind: OutageKind): (() => void) =>
  kind === 'frozen' ? freeze(platform, 'store') : killAgainAndAgain(platform, 'store');

/** Prevents the process `serve` from writing any file, as if the disk were full. @returns a function that ends this */
export const fillDiskOfServe = (platform: KillablePlatform): (() => void) => {
  const pid = pidOf(platform, 'serve')!;
  limitFileSize(pid, '1');
  return () => limitFileSize(pid, 'unlimited');
};

/** Returns the number of deliveries that wait in the spool of the process `serve`. */
export const spooledCount = async ({ url }: KillablePlatform): Promise<number | undefined> =>
  seriesSum(await scrape(url), 'annals_spool_rows');

/** Waits until the spool is empty. @returns the duration in milliseconds */
export const untilDrained = async (platform: KillablePlatform): Promise<number> => {
  const startedAt = Date.now();
  while ((await spooledCount(platform).catch(() => undefined)) !== 0) {
    if (Date.now() - startedAt > DRAIN_TIMEOUT_MS) throw new Error('the spool is not empty after ten minutes');
    await sleep(200);
  }
  return Date.now() - startedAt;
};

/** Waits until /readyz answers with the status `status`. */
export const untilReadiness = ({ url }: KillablePlatform, status: number): Promise<void> =>
  eventually(`/readyz answers ${status}`, async () => (await fetch(`${url}/readyz`).catch(() => null))?.status === status);
