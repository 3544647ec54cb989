import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

type Row = { readonly pid: number; readonly parent: number; readonly kilobytes: number };

const processes = (): Row[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid=,rss='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([pid = 0, parent = 0, kilobytes = 0]) => ({ pid, parent, kilobytes }));

const below = (pid: number, rows: readonly Row[]): Row[] =>
  rows.filter(({ parent }) => parent === pid).flatMap((row) => [row, ...below(row.pid, rows)]);

/** A process's own part of what it shares with others, where the system tells it. */
const proportional = (pid: number): number | undefined => {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
};

/** Resident memory in MiB: of one process, or of it and all below it, what they share counted once. */
export const memoryOf = (pid: number): number => {
  const rows = processes();
  const own = rows.find((row) => row.pid === pid);
  if (!own) return 0;
  const family = [own, ...below(pid, rows)];
  const kilobytes = family.length === 1 ? own.kilobytes : family.reduce((sum, row) => sum + (proportional(row.pid) ?? row.kilobytes), 0);
  return kilobytes / 1_024;
};

const TICKS_A_SECOND = 100;
const MICROSECONDS = 1_000_000;

/** Processor time that a process has used, in ticks; none where the system does not tell. */
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

/** Processor time of a process and all below it, in microseconds: steadier on a busy machine than any rate. */
export const processorTimeOf = (pid: number): number => {
  const family = [pid, ...below(pid, processes()).map((row) => row.pid)];
  return (family.reduce((sum, each) => sum + ticksOf(each), 0) / TICKS_A_SECOND) * MICROSECONDS;
};

/** Notes the most memory that each of these processes has until it is told to stop. */
export const watchMemory = <Name extends string>(pids: () => Partial<Record<Name, number>>, most: Partial<Record<Name, number>>) => {
  const look = (): void => {
    for (const [name, pid] of Object.entries(pids()) as [Name, number | undefined][])
      if (pid) most[name] = Math.max(most[name] ?? 0, memoryOf(pid));
  };
  const timer = setInterval(look, 1_000);
  return { look, stop: () => clearInterval(timer) };
};
