import { statfsSync } from 'node:fs';
import { makeDirectory, syncDirectory } from '../durable-files.ts';
import type { NamedKey } from '../vault/cipher.ts';
import {
  type Insertion,
  isFlushFailure,
  isSpoolFull,
  openSpoolFile,
  type SpoolCounts,
  type SpoolLimits,
  type SpoolPage,
} from './spool-file.ts';
import { addToShares, fittingIn, openShares, removeFromShares, type SharesStatus, sharesStatus } from './spool-shares.ts';
import { lockFreeSlot, lockSlot, type SpoolSlot, slotsWithFile } from './spool-slots.ts';
import { openEntry, type SealedEntry, type SpoolEntry, sealEntry } from './spooled-delivery.ts';

/** The limits of one process. Half an hour of 50 deliveries per second, of 2 KB each, takes a tenth. */
const LIMITS: SpoolLimits = { rows: 1_000_000, bytes: 4 * 1024 ** 3 };
/** The embedded event store and the database need this space on the disk. */
const MIN_FREE_BYTES = 32 * 1024 ** 2;
const FREE_SPACE_TTL_MS = 250;
const ADOPTED_AT_ONCE: SpoolLimits = { rows: 1_000, bytes: 16 * 1024 ** 2 };
/** A larger file is shrunk when it is empty. */
const SHRINK_ABOVE_BYTES = 16 * 1024 ** 2;

/** `canTake` is false if the latest deliveries could not be written, or the disk or the file is full. */
export type SpoolStatus = SpoolCounts & SharesStatus & { readonly canTake: boolean };

/** `seq` is the number of its row in the file. */
export type WaitingEntry = { readonly seq: number; readonly entry: SpoolEntry };

export type SpoolStorageOptions = {
  readonly dir: string;
  readonly key: NamedKey;
  /** Earlier keys. They are needed to decrypt rows that were written before the present key was used. */
  readonly olderKeys?: readonly NamedKey[];
  readonly limits?: SpoolLimits;
  readonly minFreeBytes?: number;
};

/** Creates missing files. Blocks the calling thread, so it must run in a separate one. @throws Error if the directory cannot be used */
export const openSpoolStorage = ({ dir, key, olderKeys = [], limits = LIMITS, minFreeBytes = MIN_FREE_BYTES }: SpoolStorageOptions) => {
  makeDirectory(dir);
  const slot = lockFreeSlot(dir);
  let file = openSpoolFile(slot.path);
  syncDirectory(dir);
  file.unpark();
  let { rows, bytes, parked } = file.counts();
  let peakBytes = bytes;
  let hasFailed = false;
  /** The disk has failed to flush a write: nothing is added until the file is empty and has been opened again. */
  let isReadOnly = false;
  let freeBytes = 0;
  let freeBytesAt = Number.NEGATIVE_INFINITY;

  const freeSpace = (): number => {
    if (performance.now() - freeBytesAt > FREE_SPACE_TTL_MS) {
      const { bavail, bsize } = statfsSync(dir);
      freeBytes = bavail * bsize;
      freeBytesAt = performance.now();
    }
    return freeBytes;
  };

  const shares = openShares(limits, file.useByTenant());

  const hasRoom = (moreRows = 1, moreBytes = 0): boolean =>
    rows + parked + moreRows <= limits.rows && bytes + moreBytes <= limits.bytes && freeSpace() - 2 * moreBytes >= minFreeBytes;

  const park = (seq: number, reason: string): void => {
    const use = file.park(seq, reason);
    removeFromShares(shares, use);
    bytes -= use.bytes;
    rows--;
    parked++;
  };

  const reopen = (): void => {
    file.close();
    file = openSpoolFile(slot.path);
    isReadOnly = false;
  };

  const onWriteError = (error: unknown): void => {
    hasFailed = true;
    isReadOnly ||= isFlushFailure(error);
  };

  /** Adds rows that were accepted before, or that fit into the shares of their tenants; counts those that are new. */
  const insert = (sealed: readonly SealedEntry[]): Insertion[] => {
    const added = file.add(sealed);
    hasFailed = false;
    const stored = sealed.filter((_, index) => added[index]);
    for (const one of stored) addToShares(shares, one);
    rows += stored.length;
    bytes += stored.reduce((sum, { content }) => sum + content.length, 0);
    peakBytes = Math.max(peakBytes, bytes);
    return added.map((isNew) => (isNew ? 'stored' : 'known'));
  };

  /** Adds as many as fit into the file. @throws Error if the file cannot be written; no row is then added */
  const add = (sealed: readonly SealedEntry[]): Insertion[] => {
    const size = sealed.reduce((sum, { content }) => sum + content.length, 0);
    if (isReadOnly || !hasRoom(sealed.length, size)) return sealed.map(() => 'full');
    try {
      return insert(sealed);
    } catch (error) {
      onWriteError(error);
      if (isSpoolFull(error)) return sealed.map(() => 'full');
      throw error;
    }
  };

  /** Adopted rows do not need this: they were accepted before. */
  const addWithinShares = (sealed: readonly SealedEntry[]): Insertion[] => {
    const fits = fittingIn(shares, sealed);
    const results = add(sealed.filter((_, index) => fits[index])).values();
    return fits.map((isFitting) => (isFitting ? results.next().value! : 'full'));
  };

  /** Moves as many as fit from the file of a process that has ended. Returns the integration of each moved row. */
  const moveFrom = (other: SpoolSlot): string[] => {
    const source = openSpoolFile(other.path);
    try {
      source.unpark();
      const moved = source.first(ADOPTED_AT_ONCE);
      const added = add(moved);
      if (moved.length === 0 || added.includes('full')) return [];
      // If this process ends before, both files contain the rows: no harm, as their event ids are the same.
      source.remove(moved.map(({ seq }) => seq));
      return moved.flatMap(({ integration }, index) => (added[index] === 'stored' ? [integration] : []));
    } finally {
      source.close();
    }
  };

  return {
    put: (entries: readonly SpoolEntry[]): Insertion[] => addWithinShares(entries.map((entry) => sealEntry(key, entry))),
    /** Parks rows that cannot be decrypted. */
    first: (page: SpoolPage, onUnreadable: (reason: string) => void): WaitingEntry[] =>
      file.first(page).flatMap(({ seq, ...sealed }) => {
        try {
          return [{ seq, entry: openEntry([key, ...olderKeys], sealed) }];
        } catch (error) {
          park(seq, (error as Error).message);
          onUnreadable(`a delivery in ${slot.path} cannot be read: ${(error as Error).message}`);
          return [];
        }
      }),
    remove: (seqs: readonly number[]): void => {
      for (const use of file.remove(seqs)) {
        removeFromShares(shares, use);
        bytes -= use.bytes;
      }
      rows -= seqs.length;
      if (rows + parked > 0) return;
      if (isReadOnly) reopen();
      if (peakBytes > SHRINK_ABOVE_BYTES) file.shrink();
      peakBytes = 0;
    },
    park,
    /** Takes over rows of processes that have ended. Returns the integration of each; empty if there are no more. */
    adopt: (): string[] =>
      slotsWithFile(dir).flatMap((number) => {
        const other = number === slot.number ? undefined : lockSlot(dir, number);
        if (!other) return [];
        try {
          return moveFrom(other);
        } finally {
          other.release();
        }
      }),
    rowsByIntegration: () => file.rowsByIntegration(),
    status: (): SpoolStatus => ({
      rows,
      bytes,
      parked,
      oldestAt: file.oldestAt(),
      canTake: !isReadOnly && !hasFailed && hasRoom(),
      ...sharesStatus(shares),
    }),
    close: (): void => {
      file.close();
      slot.release();
    },
  };
};
