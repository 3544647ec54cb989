import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readJson } from '../durable-files.ts';
import { commandLineOf, findProcess, isRunning, type ProcessRef } from './os-process.ts';

/**
 * Writes a process's pid and start time to a file, so that the next start can find the process. Does nothing if the
 * process has already ended.
 */
export const writePidFile = (file: string, pid: number): void => {
  const found = findProcess(pid);
  if (found) writeFileSync(file, JSON.stringify(found), { mode: 0o600 });
};

export const removePidFile = (file: string): void => rmSync(file, { force: true });

/**
 * Removes a pid file that is empty, because its process was killed before it wrote the file. PostgreSQL does not start
 * while there is an empty pid file.
 */
export const removeEmptyPidFile = (file: string): void => {
  if (statSync(file, { throwIfNoEntry: false })?.size === 0) removePidFile(file);
};

/** Reads a pid file that `writePidFile` wrote. @returns the recorded process if it still runs */
export const readPidFile = (file: string): ProcessRef | undefined => {
  const recorded = readJson<ProcessRef>(file);
  return recorded && isRunning(recorded) ? recorded : undefined;
};

const firstLineOf = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8').split('\n', 1)[0];
  } catch {
    return undefined;
  }
};

/**
 * Reads a pid file that a server has written itself; its first line is the process id.
 * @returns the process, if it is running and its command line contains `mark`; otherwise undefined, because the process
 * id may belong to another process now
 */
export const findByPidFile = (file: string, mark: string): ProcessRef | undefined => {
  const pid = Number(firstLineOf(file) ?? 0);
  return pid > 1 && commandLineOf(pid).includes(mark) ? findProcess(pid) : undefined;
};
