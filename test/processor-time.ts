import { readdirSync, readFileSync } from 'node:fs';

const CLOCK_TICKS_PER_SECOND = 100;

/** Returns the fields of /proc/<pid>/stat from field 3 of proc(5) on; undefined without such a process or without /proc. */
const statOf = (pid: number | 'self'): string[] | undefined => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return undefined;
  }
};

const PARENT = 1;
/** The indexes of utime, stime, cutime and cstime: the last two are those of ended child processes. */
const [OWN_TIMES, CHILDREN_TIMES] = [
  [11, 12],
  [13, 14],
];

const secondsIn = (stat: readonly string[] | undefined, fields: readonly number[]): number =>
  fields.reduce((sum, index) => sum + Number(stat?.[index] ?? 0), 0) / CLOCK_TICKS_PER_SECOND;

/**
 * Returns the processor time (user and system) in seconds that this process has used, and, on Linux, its ended child
 * processes with theirs.
 */
export const usedSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + secondsIn(statOf('self'), CHILDREN_TIMES);
};

/**
 * Returns the processor time in seconds that this running process and its descendants, running or ended, have used; 0
 * without Linux's /proc.
 */
export const secondsOfTree = (pid: number | undefined): number => {
  if (process.platform !== 'linux' || !pid) return 0;
  const all = readdirSync('/proc')
    .map(Number)
    .filter((each) => each > 0);
  const stats = new Map(all.map((each) => [each, statOf(each)]));
  const secondsOf = (each: number): number =>
    secondsIn(stats.get(each), [...OWN_TIMES, ...CHILDREN_TIMES]) +
    all.filter((other) => Number(stats.get(other)?.[PARENT]) === each).reduce((sum, child) => sum + secondsOf(child), 0);
  return secondsOf(pid);
};
