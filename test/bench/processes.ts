import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

type Row = { readonly pid: number; readonly parent: number; readonly kilobytes: number };

const processes = (): Row[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid=,rss='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([pid = 0, parent = 0, kilobytes = 0]) => ({ pid, parent, kilobytes }));

const descendantsOf = (pid: number, rows: readonly Row[]): Row[] =>
  rows.filter(({ parent }) => parent === pid).flatMap((row) => [row, ...descendantsOf(row.pid, rows)]);

/**
 * Returns the memory of a process in KiB as its proportional set size (PSS): memory that n processes share counts as
 * one n-th for each. Returns undefined on systems other than Linux, which do not report it.
 */
const proportionalMemory = (pid: number): number | undefined => {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
};

/** Returns the memory of a process and its descendants in MiB. On Linux, memory that they share is counted once. */
export const memoryOf = (pid: number): number => {
  const rows = processes();
  const own = rows.find((row) => row.pid === pid);
  if (!own) return 0;
  const family = [own, ...descendantsOf(pid, rows)];
  const kilobytes =
    family.length === 1 ? own.kilobytes : family.reduce((sum, row) => sum + (proportionalMemory(row.pid) ?? row.kilobytes), 0);
  return kilobytes / 1_024;
};

const TICKS_PER_SECOND = 100;
const MICROSECONDS = 1_000_000;

/** Returns the processor time of a process in clock ticks, or NaN if the system does not report it. */
const ticksOf = (pid: number): number => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return Number.NaN;
  }
};

/**
 * Returns the processor time of a process and its descendants in microseconds. On a busy machine, this figure varies
 * less than the number of requests per second.
 */
export const processorTimeOf = (pid: number): number => {
  const family = [pid, ...descendantsOf(pid, processes()).map((row) => row.pid)];
  return (family.reduce((sum, each) => sum + ticksOf(each), 0) / TICKS_PER_SECOND) * MICROSECONDS;
};

/**
 * Measures the memory of each process every second until `stop` is called, and records the highest values in `peaks`,
 * in MiB.
 */
export const watchMemory = <Name extends string>(pids: () => Partial<Record<Name, number>>, peaks: Partial<Record<Name, number>>) => {
  const sample = (): void => {
    for (const [name, pid] of Object.entries(pids()) as [Name, number | undefined][])
      if (pid) peaks[name] = Math.max(peaks[name] ?? 0, memoryOf(pid));
  };
  const timer = setInterval(sample, 1_000);
  return { sample, stop: () => clearInterval(timer) };
};
