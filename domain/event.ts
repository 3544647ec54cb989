/** `system` is the platform itself. `key_id`: the API key that the caller used; absent or null if there was none. */
export type Actor = { kind: 'user' | 'agent' | 'system'; id: string; key_id?: string | null };

/** A position in the log. Positions increase, but cannot be calculated from the event before. */
export type Position = { commit: bigint; prepare: bigint };

/** An event that a decision returns. `data` is flat, with the field names of the API; for a change, only the changed fields. */
export type DomainEvent = { readonly type: string; readonly data: object };

/** If the data of an event are raw bytes, `facts` contains the fields instead. */
export type Metadata = {
  tenant: string;
  actor: Actor;
  at: string;
  v: number;
  ip?: string | null;
  userAgent?: string | null;
  facts?: Record<string, unknown>;
  $correlationId?: string;
  $causationId?: string;
  /** The state of the aggregate before this event, for some events of long streams (see `snapshots` in `Aggregate`). */
  stateBefore?: { version: number; state: unknown };
};

/** `id` of the aggregate; `event_id`: UUID; `at`: RFC 3339 UTC. */
export type Recorded<E extends DomainEvent = DomainEvent> = E & {
  readonly event_id: string;
  readonly stream: string;
  readonly category: string;
  readonly tenant: string;
  readonly id: string;
  readonly revision: number;
  readonly position: Position;
  readonly at: string;
  readonly actor: Actor;
  readonly meta: Metadata;
  /** The hash in the audit tree, only if the event's bytes, which it covers, were dropped (see `withoutBytes`). */
  readonly leaf?: string;
};

/** The event that is the reason for something, such as `decided_by` in an API response. */
export type EventRef = { readonly event_id: string; readonly type: string; readonly at: string };

/** The text that replaces a tenant id in stream names. */
export const PLATFORM = 'platform';

export const streamName = (category: string, tenant: string, id: string): string => `${category}-${tenant}.${id}`;

/** `<category>-<tenant>.<id>`; null for any other name, such as a system stream's. */
export const parseStream = (stream: string): { category: string; tenant: string; id: string } | null => {
  const match = /^([a-z]+)-([a-z0-9]+)\.(.+)$/.exec(stream);
  return match ? { category: match[1]!, tenant: match[2]!, id: match[3]! } : null;
};

/** For sorting: negative if `a` is earlier. */
export const comparePositions = (a: Position, b: Position): number =>
  a.commit === b.commit ? Number(a.prepare > b.prepare) - Number(a.prepare < b.prepare) : a.commit > b.commit ? 1 : -1;

/** Greater than every sort key. */
export const MAX_SORT_KEY = '9'.repeat(40);

export const tokenOf = ({ commit, prepare }: Position): string => `${commit}:${prepare}`;

/** 40 digits; as texts, sort keys have the order of their positions. */
export const sortKey = ({ commit, prepare }: Position): string => `${commit}`.padStart(20, '0') + `${prepare}`.padStart(20, '0');

export const positionOfSortKey = (key: string): Position => ({ commit: BigInt(key.slice(0, 20)), prepare: BigInt(key.slice(20)) });

export const parseToken = (token: string): Position | null => {
  const match = /^(\d{1,19}):(\d{1,19})$/.exec(token);
  return match ? { commit: BigInt(match[1]!), prepare: BigInt(match[2]!) } : null;
};
