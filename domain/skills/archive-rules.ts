import { DisplayLine } from '../fields.ts';
import { invalid, Refusal } from '../refusal.ts';

export const MAX_ARCHIVE_BYTES = 10 * 1024 * 1024;
export const MAX_ARCHIVE_ENTRIES = 2_000;
/** The maximum size of all files of an archive together. */
export const MAX_UNPACKED_BYTES = 50_000_000;
/** The maximum ratio of unpacked to compressed size, for the whole archive and for each file. */
export const MAX_COMPRESSION_RATIO = 100;
/** The ratio of smaller files is not limited: harmless ones, such as empty tables, can have a high ratio. */
const MIN_BOMB_BYTES = 100_000;
/** The maximum number of folder and file names in a path. */
export const MAX_PATH_DEPTH = 20;
const MAX_PATH_LENGTH = 1_024;

export type ArchiveEntry = {
  readonly path: string;
  /** Type and permissions on Unix; 0 if the archive does not contain them. */
  readonly unixMode: number;
  readonly isEncrypted: boolean;
  /** The entry (header and compressed data) goes from the index `start` to before `end`. */
  readonly start: number;
  readonly end: number;
};

const POINTER = '/upload';

/** `code` names the rule that the archive breaks. */
export const badArchive = (code: string, message: string): Refusal => invalid(POINTER, message, code);

/**
 * The error to throw when reading failed. A refusal of the archive gets `pointer`, the request field with the archive; any other error is
 * unchanged.
 */
export const archiveErrorAt = (pointer: string, error: unknown): unknown => {
  if (!(error instanceof Refusal) || error.extra.errors?.[0]?.pointer !== POINTER) return error;
  const { code, message } = error.extra.errors[0];
  return invalid(pointer, message, code);
};

const TYPE_MASK = 0o170000;
const REGULAR_FILE = 0o100000;
const DIRECTORY = 0o040000;
const LINK = 0o120000;

export const quoted = (path: string): string => JSON.stringify(path.length > 80 ? `${path.slice(0, 80).toWellFormed()}…` : path);

/** Finder keeps the icon of a folder in a file whose name ends with a carriage return. */
const FINDER_ICON = /((?:^|\/)(?:\._)?Icon)\r$/;
/** Device names, such as NUL, which Windows reserves with every extension. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[1-9\u00b9\u00b2\u00b3])(?:\.|$)/i;

/** Why a file in an archive must not have this path. */
const pathFault = (path: string): string | null => {
  if (path === '' || path.length > MAX_PATH_LENGTH) return `must have 1 to ${MAX_PATH_LENGTH} characters`;
  if (!DisplayLine.safeParse(path.replace(FINDER_ICON, '$1')).success)
    return 'contains a control character or one that changes the direction of text: rename it';
  if (path.startsWith('/') || /^[A-Za-z]:\//.test(path)) return 'is absolute: pack the folder from where it lies';
  if (path.includes(':')) return 'contains a colon, which Windows does not allow: rename it';
  const names = path.replace(/\/$/, '').split('/');
  if (names.some((name) => name === '' || name === '.' || name === '..'))
    return 'contains an empty name, . or ..: pack the folder from where it lies';
  // Windows removes these characters from the end of a name, so the file would get a different name there.
  if (names.some((name) => /[. ]$/.test(name))) return 'contains a name that ends with a dot or a space: rename it';
  if (names.some((name) => DEVICE.test(name))) return 'contains a name that Windows reserves for a device: rename it';
  return names.length > MAX_PATH_DEPTH ? `has more than ${MAX_PATH_DEPTH} names` : null;
};

/** Paths with the same key are the same file on some file systems. */
const keyOf = (path: string): string => path.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');

/** Returns the folders of a path, starting with the outermost one. */
const foldersOf = (path: string): string[] => {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
};

const clashOf = (known: string, claim: string): string => {
  if (known === claim) return `The archive has ${quoted(claim)} twice: pack it once`;
  if (known.replace(/\/$/, '') === claim.replace(/\/$/, ''))
    return `The archive has ${quoted(known)} both as a file and as a folder: rename one`;
  const differ = known.toLowerCase() === claim.toLowerCase() ? 'in case' : 'in case or in the form of their letters';
  return `The paths ${quoted(known)} and ${quoted(claim)} differ only ${differ}: rename one`;
};

/**
 * Refuses a path that differs from an earlier one only in case or Unicode form, or that is both a file and a folder. `taken` maps keys to
 * earlier paths; those of folders end with a slash.
 * @throws Refusal invalid
 */
const claimPath = (taken: Map<string, string>, path: string): void => {
  const isFolder = path.endsWith('/');
  const plain = isFolder ? path.slice(0, -1) : path;
  const claims = [...foldersOf(plain).map((folder) => `${folder}/`), path];
  for (const claim of claims) {
    const key = keyOf(claim.replace(/\/$/, ''));
    const known = taken.get(key);
    if (known !== undefined && (known !== claim || !claim.endsWith('/'))) throw badArchive('path_clash', clashOf(known, claim));
    taken.set(key, claim);
  }
};

/** Checks the entries before any of the files is unpacked. @throws Refusal invalid if the archive breaks a rule */
export const checkEntries = (entries: readonly ArchiveEntry[]): void => {
  if (entries.length > MAX_ARCHIVE_ENTRIES)
    throw badArchive('too_many_entries', `The archive has more than ${MAX_ARCHIVE_ENTRIES} entries: leave out what is not needed`);
  const taken = new Map<string, string>();
  for (const { path, unixMode, isEncrypted } of entries) {
    const fault = pathFault(path);
    if (fault) throw badArchive('bad_path', `The path ${quoted(path)} ${fault}`);
    const type = unixMode & TYPE_MASK;
    if (type !== 0 && type !== REGULAR_FILE && type !== DIRECTORY)
      throw badArchive(
        'not_a_file',
        `${quoted(path)} is ${type === LINK ? 'a symbolic link: pack the file to which it leads' : 'a device and no file: leave it out'}`,
      );
    if (isEncrypted) throw badArchive('encrypted', `${quoted(path)} is encrypted: pack it without a password`);
    claimPath(taken, path);
  }
  const inOrder = entries.toSorted((a, b) => a.start - b.start);
  for (const [index, { path, start }] of inOrder.entries())
    if (index > 0 && start < inOrder[index - 1]!.end) throw badArchive('overlap', `${quoted(path)} has data in common with another entry`);
};

/** The caller counts each unpacked chunk; counting throws as soon as a limit is exceeded. */
export const createUnpackedCounter = (archiveBytes: number) => {
  let total = 0;
  return {
    /** `entry.unpacked`: all its bytes so far. @throws Refusal invalid if a limit is exceeded */
    count: (entry: { readonly path: string; unpacked: number; readonly compressed: number }, bytes: number): void => {
      total += bytes;
      entry.unpacked += bytes;
      if (total > MAX_UNPACKED_BYTES)
        throw badArchive('too_large_unpacked', `The unpacked files have more than ${MAX_UNPACKED_BYTES} bytes in total`);
      const isBomb = (unpacked: number, compressed: number) => unpacked > MIN_BOMB_BYTES && unpacked > compressed * MAX_COMPRESSION_RATIO;
      if (isBomb(total, archiveBytes) || isBomb(entry.unpacked, entry.compressed))
        throw badArchive(
          'compression_ratio',
          `${quoted(entry.path)} or all files together are more than ${MAX_COMPRESSION_RATIO} times larger than their compressed data`,
        );
    },
  };
};
