import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { PlatformKind } from './fixtures/given-platforms.ts';

const root = join(import.meta.dirname, '..');

/**
 * The rings of the tests. `quick` is what `npm test` runs: everything that needs no process of the platform, and one
 * smoke test of the whole platform. `live` runs real processes, `browser` real pages, and `faults` kills and stops
 * processes.
 */
export const RINGS = ['quick', 'live', 'browser', 'faults'] as const;
export type Ring = (typeof RINGS)[number];

const RING_OF_KIND: Readonly<Record<string, Ring>> = { live: 'live', browser: 'browser', faults: 'faults' };

/** Returns the ring of a test file: the part of its name before `.test.ts` decides. */
export const ringOf = (file: string): Ring => RING_OF_KIND[/\.(\w+)\.test\.ts$/.exec(file)?.[1] ?? ''] ?? 'quick';

const DEFAULT_TIMEOUT_S = 120;

const firstLineOf = (file: string): string => /^\/\/ .*/.exec(readFileSync(join(root, file), 'utf8'))?.[0] ?? '';

/**
 * Returns the time limit of a test file in seconds, for an idle machine. A comment `limit: <seconds>` in its first line
 * sets another one than the default.
 */
export const limitOf = (file: string): number => Number(/\blimit: (\d+)/.exec(firstLineOf(file))?.[1] ?? DEFAULT_TIMEOUT_S);

/** Whether a test file runs only a share of its generated cases. The word `share` in its first line says so. */
export const takesShare = (file: string): boolean => /\bshare\b/.test(firstLineOf(file));

/** How a test file calls the function of test/fixtures/running-platform.ts that gives it each kind of platform. */
const PLATFORM_CALLS: Readonly<Record<PlatformKind, string>> = { shared: 'runningPlatform(', lent: 'lentPlatform(' };

/** Whether a test file uses the platform of this kind that test/run.ts starts. */
export const usesPlatform = (file: string, kind: PlatformKind): boolean =>
  readFileSync(join(root, file), 'utf8').includes(PLATFORM_CALLS[kind]);

/** Whether a test file needs its own process. The words `own process` in its first line say so. */
export const needsOwnProcess = (file: string): boolean => /\bown process\b/.test(firstLineOf(file));

/** Whether a test file starts programs of the platform: one of a later ring than `quick`, or the test of the whole platform. */
export const startsPrograms = (file: string): boolean => ringOf(file) !== 'quick' || file.endsWith('.smoke.test.ts');

export type Selection = {
  /** Empty: all rings. */
  readonly rings: readonly Ring[];
  /** A file is selected if its path contains one of these parts. Empty: all files. */
  readonly parts: readonly string[];
  /** `[1, 4]` is the first of four parts of the files, which together are all of them. */
  readonly shard: readonly [number, number];
  /** Leaves out what the ring `quick` has run already, but not the files that run only a share of their cases there. */
  readonly isAfterQuick: boolean;
};

const isSelected = (file: string, { rings, parts, isAfterQuick }: Selection): boolean =>
  (rings.length === 0 || rings.includes(ringOf(file))) &&
  (parts.length === 0 || parts.some((part) => file.includes(part))) &&
  !(isAfterQuick && ringOf(file) === 'quick' && !takesShare(file));

/**
 * Returns the numbers by which the files of a run are sorted. Files that use a lent platform come first, because they run
 * one after another; then those that use the shared one, so that both platforms can be closed early. Then come files with
 * a long time limit, and those of the later rings. Otherwise, a slow file might run alone at the end.
 */
const orderOf = (file: string): readonly number[] => [
  usesPlatform(file, 'lent') ? 0 : usesPlatform(file, 'shared') ? 1 : 2,
  -limitOf(file),
  -RINGS.indexOf(ringOf(file)),
];

/** Returns the selected test files in the order in which they run. */
export const selectedFiles = (selection: Selection): string[] => {
  const [index, count] = selection.shard;
  return globSync('test/**/*.test.ts', { cwd: root })
    .map((file) => file.split(sep).join('/'))
    .filter((file) => isSelected(file, selection))
    .sort()
    .map((file) => ({ file, order: orderOf(file) }))
    .sort((a, b) => a.order.map((number, index) => number - b.order[index]!).find((difference) => difference !== 0) ?? 0)
    .map(({ file }) => file)
    .filter((_, position) => position % count === index - 1);
};
