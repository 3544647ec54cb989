import { DisplayLine } from '../fields.ts';
import { invalid, Refusal } from '../refusal.ts';

/** The maximum size of an uploaded archive, in bytes. */
export const MAX_ARCHIVE_BYTES = 10 * 1024 * 1024;
export const MAX_ARCHIVE_ENTRIES = 2_000;
/** The maximum size of all files of an archive together, in bytes. */
export const MAX_UNPACKED_BYTES = 50_000_000;
/** The maximum ratio of unpacked to compressed size, for the whole archive and for each file. */
export const MAX_COMPRESSION_RATIO = 100;
/**
 * The ratio of a file with fewer unpacked bytes than this is not limited, because small harmless files, such as empty
 * tables, can have a high ratio.
 */
const MIN_BOMB_BYTES = 100_000;
/** The maximum number of names in the path of a file. */
export const MAX_PATH_DEPTH = 20;
const MAX_PATH_LENGTH = 1_024;

/** An entry of an archive, as its directory describes it. */
export type ArchiveEntry = {
  readonly path: string;
  /** The type and the permissions of the file on Unix; 0 if the archive has none. */
  readonly unixMode: number;
  readonly isEncrypted: boolean;
  /**
   * The index of the first byte of the entry in the archive. The entry (its header and its compressed data) ends before
   * the index `end`.
   */
  readonly start: number;
  readonly end: number;
};

const POINTER = '/upload';

/** Returns the refusal of an archive. `code` says which rule the archive breaks. */
export const badArchive = (code: string, message: string): Refusal => invalid(POINTER, message, code);

/**
 * Returns the error to throw when reading an archive has failed. In a refusal of the archive, the pointer is replaced
 * by `pointer`, which points to the request field with the archive. Any other error is returned unchanged.
 */
export const archiveErrorAt = (pointer: string, error: unknown): unknown => {
  if (!(error instanceof Refusal) || error.extra.errors?.[0]?.pointer !== POINTER) return error;
  const { code, message } = error.extra.errors[0];
  return invalid(pointer, message, code);
};

const TYPE_MASK = 0o170000;
const REGULAR_FILE = 0o100000;
const DIRECTORY = 0o040000;

/** Returns a path in the form in which messages show it. */
const quoted = (path: string): string => JSON.stringify(path.length > 80 ? `${path.slice(0, 80).toWellFormed()}…` : path);

/** Returns why an archive must not contain a file with this path; null if it may. */
const pathFault = (path: string): string | null => {
  if (path === '' || path.length > MAX_PATH_LENGTH) return `must have 1 to ${MAX_PATH_LENGTH} characters`;
  if (!DisplayLine.safeParse(path).success) return 'contains characters that are not allowed';
  if (path.includes('\\')) return 'contains a backslash';
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return 'is absolute';
  if (path.includes(':')) return 'contains a colon';
  const names = path.replace(/\/$/, '').split('/');
  if (names.some((name) => name === '' || name === '.' || name === '..')) return 'contains an empty name, . or ..';
  // Windows drops these characters at the end of a name, so the file would get another name.
  if (names.some((name) => /[. ]$/.test(name))) return 'contains a name that ends with a dot or a space';
  return names.length > MAX_PATH_DEPTH ? `has more than ${MAX_PATH_DEPTH} names` : null;
};

/** Returns the key of a path. On some file systems, paths with the same key would be the same file. */
const keyOf = (path: string): string => path.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');

/** Returns the paths of the folders that contain a file, starting with the outermost one. */
const foldersOf = (path: string): string[] => {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
};

/**
 * Checks a further path of an archive: it must not differ from another path only in case or in the form of its
 * characters, and no path may be both a file and a folder. `taken` maps the keys of all earlier paths to the paths;
 * folders end with a slash.
 * @throws Refusal invalid
 */
const claimPath = (taken: Map<string, string>, path: string): void => {
  const isFolder = path.endsWith('/');
  const plain = isFolder ? path.slice(0, -1) : path;
  const claims = [...foldersOf(plain).map((folder) => `${folder}/`), path];
  for (const claim of claims) {
    const key = keyOf(claim.replace(/\/$/, ''));
    const known = taken.get(key);
    if (known !== undefined && (known !== claim || !claim.endsWith('/')))
      throw badArchive('path_clash', `The paths ${quoted(known)} and ${quoted(claim)} are the same, or differ only in case`);
    taken.set(key, claim);
  }
};

/**
 * Checks the directory of an archive before any of its files is unpacked.
 * @throws Refusal invalid
 */
export const checkEntries = (entries: readonly ArchiveEntry[]): void => {
  if (entries.length > MAX_ARCHIVE_ENTRIES)
    throw badArchive('too_many_entries', `The archive has more than ${MAX_ARCHIVE_ENTRIES} entries`);
  const taken = new Map<string, string>();
  for (const { path, unixMode, isEncrypted } of entries) {
    const fault = pathFault(path);
    if (fault) throw badArchive('bad_path', `The path ${quoted(path)} ${fault}`);
    const type = unixMode & TYPE_MASK;
    if (type !== 0 && type !== REGULAR_FILE && type !== DIRECTORY)
      throw badArchive('not_a_file', `${quoted(path)} is a link or a device, not a file`);
    if (isEncrypted) throw badArchive('encrypted', `${quoted(path)} is encrypted`);
    claimPath(taken, path);
  }
  const inOrder = entries.toSorted((a, b) => a.start - b.start);
  for (const [index, { path, start }] of inOrder.entries())
    if (index > 0 && start < inOrder[index - 1]!.end) throw badArchive('overlap', `${quoted(path)} has data in common with another entry`);
};

/**
 * Creates a counter of the bytes that are unpacked from an archive of this size. The caller passes the size of every
 * unpacked chunk to it. The counter throws at the first chunk that exceeds a limit.
 */
export const createUnpackedCounter = (archiveBytes: number) => {
  let total = 0;
  return {
    /**
     * Counts the next unpacked bytes of an entry. `entry.unpacked` is the total for that entry.
     * @throws Refusal invalid
     */
    count: (entry: { unpacked: number; readonly compressed: number }, bytes: number): void => {
      total += bytes;
      entry.unpacked += bytes;
      if (total > MAX_UNPACKED_BYTES)
        throw badArchive('too_large_unpacked', `The unpacked files have more than ${MAX_UNPACKED_BYTES} bytes in total`);
      const isBomb = (unpacked: number, compressed: number) => unpacked > MIN_BOMB_BYTES && unpacked > compressed * MAX_COMPRESSION_RATIO;
      if (isBomb(total, archiveBytes) || isBomb(entry.unpacked, entry.compressed))
        throw badArchive(
          'compression_ratio',
          `The unpacked files are more than ${MAX_COMPRESSION_RATIO} times larger than their compressed data`,
        );
    },
  };
};
