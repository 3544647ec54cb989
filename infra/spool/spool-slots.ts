import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { lockFile, type ProcessLock } from '../process-lock.ts';

const MAX_SLOTS = 64;
const FILE = /^(\d{1,2})\.db$/;

/** A numbered file of the spool. Only this process may write it, until it releases the lock or ends. */
export type SpoolSlot = { readonly number: number; readonly path: string; readonly release: ProcessLock['release'] };

export const spoolDirectory = (annalsData: string): string => join(annalsData, 'spool');

const pathOf = (dir: string, number: number): string => join(dir, `${number}.db`);

/** Undefined if another process has locked it. */
export const lockSlot = (dir: string, number: number): SpoolSlot | undefined => {
  const lock = lockFile(join(dir, `${number}.lock`));
  return lock && { number, path: pathOf(dir, number), release: lock.release };
};

/** @throws Error if all are locked */
export const lockFreeSlot = (dir: string): SpoolSlot => {
  for (let number = 0; number < MAX_SLOTS; number++) {
    const slot = lockSlot(dir, number);
    if (slot) return slot;
  }
  throw new Error(`${MAX_SLOTS} processes use the spool in ${dir}`);
};

export const slotsWithFile = (dir: string): number[] =>
  existsSync(dir)
    ? readdirSync(dir)
        .flatMap((name) => FILE.exec(name)?.[1] ?? [])
        .map(Number)
        .sort((a, b) => a - b)
    : [];

export const slotPath = pathOf;
