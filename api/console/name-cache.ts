import type { Answer } from '../http/ask.ts';

/** The names of resources, by their ids. */
export type Names = ReadonlyMap<string, string>;

/** An answer with names, and the time at which it was read. */
export type CachedNames = { readonly answer: Answer<Names>; readonly readAt: number };

/** A cache of bounded size for the names that pages have read last. */
export type NameCache = {
  readonly get: (key: string) => CachedNames | undefined;
  readonly set: (key: string, names: CachedNames) => void;
};

/** The cache of names as one request uses it. Only an open page that updates itself reads from it. */
export type NameCacheAccess = { readonly cache: NameCache; readonly session: string; readonly isRefresh: boolean };
