import type { Answer } from '../http/ask.ts';

/** The names of resources, by their ids. */
export type Names = ReadonlyMap<string, string>;

/** An answer with names, and the time at which it was read. */
export type RememberedNames = { readonly answer: Answer<Names>; readonly readAt: number };

/** Keeps the names that pages have read last. It is of bounded size. */
export type NameCache = {
  readonly get: (key: string) => RememberedNames | undefined;
  readonly set: (key: string, names: RememberedNames) => void;
};

/** What a visit needs to remember names from one update of an open page to the next. */
export type NameMemory = { readonly cache: NameCache; readonly session: string; readonly isRefresh: boolean };
