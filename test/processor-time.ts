import { readFileSync } from 'node:fs';

const CLOCK_TICKS_PER_SECOND = 100;

/** Returns the user and system time in seconds of the ended child processes of this process; 0 without Linux's /proc. */
const endedChildrenSeconds = (): number => {
  if (process.platform !== 'linux') return 0;
  const fields = readFileSync('/proc/self/stat', 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ');
  // The list begins with field 3 of proc(5). cutime and cstime are the fields 16 and 17.
  return (Number(fields[13]) + Number(fields[14])) / CLOCK_TICKS_PER_SECOND;
};

/**
 * Returns the processor time (user and system) in seconds that this process has used, and, on Linux, its ended child
 * processes with theirs.
 */
export const usedSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + endedChildrenSeconds();
};
