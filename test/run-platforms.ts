import { PLATFORM_KINDS, type PlatformKind } from './fixtures/given-platforms.ts';
import type { StartedPlatform } from './fixtures/start-platforms.ts';
import { secondsOfTree } from './processor-time.ts';
import type { Worker } from './run-queue.ts';
import { usesPlatform } from './test-files.ts';

/** Starts the platforms that these files use. The code for it is loaded only if there is one to start. */
export const startPlatformsOf = async (files: readonly string[]): Promise<StartedPlatform[]> => {
  const kinds = PLATFORM_KINDS.filter((kind) => files.some((file) => usesPlatform(file, kind)));
  return kinds.length === 0 ? [] : (await import('./fixtures/start-platforms.ts')).startPlatforms(kinds);
};

/**
 * Returns functions that run the files which use these platforms. Only one file at a time uses a lent platform. Each
 * platform is closed when the last of its files has ended, because a platform without requests works, too.
 */
export const platformsInUse = (files: readonly string[], platforms: readonly StartedPlatform[]) => {
  const waiting = new Map<PlatformKind, number>(
    platforms.map(({ kind }) => [kind, files.filter((file) => usesPlatform(file, kind)).length] as const),
  );
  const seconds = new Map<string, number>();
  let isLent = false;

  const end = async ({ kind, pid, close }: StartedPlatform): Promise<void> => {
    const left = waiting.get(kind)! - 1;
    waiting.set(kind, left);
    if (left > 0) return;
    seconds.set(`the ${kind} platform`, secondsOfTree(pid()));
    await close();
  };
  const runOn = async (file: string, run: Worker<string>['run']): Promise<void> => {
    const isLending = usesPlatform(file, 'lent');
    isLent ||= isLending;
    await run(file);
    if (isLending) isLent = false;
    for (const platform of platforms) if (usesPlatform(file, platform.kind)) await end(platform);
  };
  return {
    mayRun: (file: string): boolean => !(isLent && usesPlatform(file, 'lent')),
    onPlatforms: ({ run, close }: Worker<string>): Worker<string> => ({ run: (file) => runOn(file, run), close }),
    /** The processor time of each platform that has been closed, by its name. */
    seconds,
  };
};
