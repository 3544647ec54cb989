import type { Recorded } from './event.ts';

export const category = 'key';

/** `wrapped` is a key, encrypted with the master key. So backups of the log can contain it. */
type NewKey = { kid: string; wrapped: string };

/**
 * `KeysRewrapped` has all keys of its stream, encrypted with another master key. Therefore, the earlier events can be
 * removed when their master key is no longer used.
 */
export type WrappedKeyEvent =
  | { type: 'PlatformKeyCreated'; data: NewKey }
  | { type: 'DataKeyCreated'; data: NewKey }
  | { type: 'KeysRewrapped'; data: { keys: readonly (NewKey & { created_at: string })[] } };

/**
 * A key. `wrapped` is encrypted with the newest master key. `earlier` has the same key encrypted with the earlier
 * master keys, the oldest first. `created_at` is RFC 3339 UTC.
 */
export type WrappedKey = NewKey & { readonly created_at: string; readonly earlier: readonly string[] };

/**
 * The wrapped keys of one tenant, the oldest first. The last key encrypts new secrets. The others only decrypt the
 * secrets that they once encrypted.
 */
export type WrappedKeys = readonly WrappedKey[];

export const initial: WrappedKeys = [];

const rewrap = (keys: WrappedKeys, { kid, wrapped, created_at }: NewKey & { created_at: string }): WrappedKey => {
  const known = keys.find((key) => key.kid === kid);
  return { kid, wrapped, created_at, earlier: known ? [...known.earlier, known.wrapped] : [] };
};

export const evolve = (keys: WrappedKeys, { type, data, at }: Recorded<WrappedKeyEvent>): WrappedKeys => {
  switch (type) {
    case 'PlatformKeyCreated':
    case 'DataKeyCreated':
      return [...keys, { ...data, created_at: at, earlier: [] }];
    case 'KeysRewrapped':
      return data.keys.map((key) => rewrap(keys, key));
  }
};
