import type { Recorded } from './event.ts';

export const category = 'key';

/** `wrapped`: encrypted with the master key, so backups of the log may contain it. */
type NewKey = { kid: string; wrapped: string };

/** `KeysRewrapped` has all keys of its stream, encrypted with another master key: once the old one is not used, earlier events can be removed. */
export type WrappedKeyEvent =
  | { type: 'PlatformKeyCreated'; data: NewKey }
  | { type: 'DataKeyCreated'; data: NewKey }
  | { type: 'KeysRewrapped'; data: { keys: readonly (NewKey & { created_at: string })[] } };

/** `wrapped`: encrypted with the newest master key; `earlier`: with earlier ones, oldest first. `created_at` is RFC 3339 UTC. */
export type WrappedKey = NewKey & { readonly created_at: string; readonly earlier: readonly string[] };

/** The keys of one tenant, oldest first. The last key encrypts new secrets; the others only decrypt. */
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
