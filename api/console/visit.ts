import type { Rows } from '../areas.ts';
import type { Ask, Call, ReplyOf } from '../http/ask.ts';
import type { Guides } from './guides.ts';
import type { NameCacheAccess } from './name-cache.ts';

/** The response of `GET /me`, which describes the visitor. */
export type Me = ReplyOf<Rows['readMe']>;
export type MyTenant = Me['tenants'][number];

/** How many things wait for the visitor. */
export type Counts = ReplyOf<Rows['readOverviewCounts']>;

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

/** How old the data of a page is, as far as its API calls have shown it up to now. */
export type Freshness = {
  /** How long the log has had events that the page lacks, in seconds. */
  readonly behindSeconds: number;
  /**
   * The consistency token that a read of the page has not reached within two seconds. The read has then returned an
   * earlier state. Null if there is none.
   */
  readonly missedToken: string | null;
};

/** The data about one request for a console page. */
export type Visit = {
  /** The path of the page. `url` also contains the query. */
  readonly path: string;
  readonly url: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The past time or position that the page shows; null for the present. */
  readonly asOf: string | null;
  /**
   * On a page that shows the past: the titles of the reads that do not support past times, and therefore returned the
   * present state.
   */
  readonly presentReads: readonly string[];
  /** The description of the visitor. Null on pages before the sign-in, and if `GET /me` failed. */
  readonly me: Me | null;
  /** The tenant in the path; null if the visitor is not a member of it. */
  readonly tenant: MyTenant | null;
  /** The visitor's last break-glass access to the tenant in the path. Null for members, and if there was none. */
  readonly breakGlass: (NonNullable<Me['break_glass']> & { readonly isOpen: boolean }) | null;
  /** Whether the visitor has a permission. This is `platform`, `any`, or a permission on the tenant in the path. */
  readonly may: (permission: string) => boolean;
  readonly ask: Ask;
  readonly rows: Rows;
  /** The API calls that the page has made so far. */
  readonly calls: Call[];
  readonly theme: Theme;
  /** Whether keys act that are pressed without a modifier key. The visitor can switch them off. */
  readonly singleKeys: boolean;
  /** The time zone in which times are shown. */
  readonly zone: string;
  /** The time zone that was asked for, if it does not exist; otherwise null. */
  readonly unknownZone: string | null;
  /**
   * Whether the page may offer the time zone of the browser: once per browser. `shown` if an open page that updates itself
   * may show the offer already. Null for a browser whose zone was chosen.
   */
  readonly zoneOffer: 'new' | 'shown' | null;
  /** The parts of the platform that do not work at the moment; empty on pages before the sign-in. */
  readonly degraded: readonly string[];
  /** How old the data of the page is. */
  readonly freshness: Freshness;
  readonly nameCache: NameCacheAccess;
  /**
   * What is counted in the navigation. Null on a page that counts nothing. `current` is null while it is unknown, and
   * `ready` resolves when the page need not wait for it any longer.
   */
  readonly navCounts: { readonly current: Counts | null; readonly ready: Promise<void> } | null;
  /** The documentation, which the search finds, too. */
  readonly guides: Guides;
  /** The origin of this site's URLs, for the commands that pages show. */
  readonly origin: string;
  readonly requestId: string;
};

/** Returns the path of a page of a tenant. */
export const tenantPath = (tenant_id: string, rest = ''): string => `/console/t/${tenant_id}${rest}`;

/** Returns the path of a page about the platform. */
export const platformPath = (rest = ''): string => `/console/platform${rest}`;

/** Returns the URL of the page with some query parameters replaced. The value null removes a parameter. */
export const withQuery = ({ path, query }: Pick<Visit, 'path' | 'query'>, changes: Readonly<Record<string, string | null>>): string => {
  const next = new URLSearchParams(query);
  next.delete('after');
  for (const [name, value] of Object.entries(changes)) value === null ? next.delete(name) : next.set(name, value);
  return next.size > 0 ? `${path}?${next}` : path;
};
