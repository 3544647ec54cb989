import type { Ask, Call, ReplyOf } from '../http/ask.ts';
import type { Rows } from './rows.ts';

/** The data about the visitor: the response of `GET /me`. */
export type Me = ReplyOf<Rows['readMe']>;
export type MyTenant = Me['tenants'][number];

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

/** The data about one request for a page of the console. */
export type Visit = {
  /** The path of the page. `url` is the path with the query. */
  readonly path: string;
  readonly url: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The time or position in the past that the page shows; null for the present. */
  readonly asOf: string | null;
  /**
   * The summaries of the reads on a page of the past that returned the present state, because they do not support the
   * past.
   */
  readonly presentReads: readonly string[];
  /** The data about the visitor. Null if `GET /me` failed, and on pages before the sign-in. */
  readonly me: Me | null;
  /** The tenant in the path, if the visitor is a member of it; otherwise null. */
  readonly tenant: MyTenant | null;
  /** Whether the visitor has a permission: `platform`, `any`, or a permission on the tenant in the path. */
  readonly may: (permission: string) => boolean;
  readonly ask: Ask;
  readonly rows: Rows;
  /** The calls that this page has made so far. */
  readonly calls: readonly Call[];
  readonly theme: Theme;
  /** The URL of this host, for the commands that pages show. */
  readonly origin: string;
  readonly requestId: string;
};

/** Returns the path of a page of a tenant. */
export const tenantPath = (tenant_id: string, rest = ''): string => `/console/t/${tenant_id}${rest}`;

/** Returns the query of the page with some parameters replaced; a null removes its parameter. */
export const withQuery = ({ path, query }: Pick<Visit, 'path' | 'query'>, changes: Readonly<Record<string, string | null>>): string => {
  const next = new URLSearchParams(query);
  next.delete('after');
  for (const [name, value] of Object.entries(changes)) value === null ? next.delete(name) : next.set(name, value);
  return next.size > 0 ? `${path}?${next}` : path;
};
