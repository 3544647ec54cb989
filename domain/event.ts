/**
 * Who caused an event: a user, the runner of an agent, or the platform itself. `key_id` is the id of the API key that
 * the caller used; absent or null if there was none.
 */
export type Actor = { kind: 'user' | 'agent' | 'system'; id: string; key_id?: string | null };

/**
 * The position of an event in the log. Later events have greater positions. The position of an event cannot be
 * calculated from that of the event before it.
 */
export type Position = { commit: bigint; prepare: bigint };

/**
 * An event as a decision returns it, before it is stored. `data` is flat and uses the field names of the API. If the
 * event records a change, `data` contains only the changed fields.
 */
export type DomainEvent = { readonly type: string; readonly data: object };

/**
 * The metadata that are stored with an event. If the data of an event are raw bytes, `facts` contains the fields of the
 * event instead.
 */
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
  /**
   * The state of the aggregate before this event. Some events of long streams contain it; see `snapshots` in
   * `Aggregate`.
   */
  stateBefore?: { version: number; state: unknown };
};

/**
 * An event as the log stores it. `id` is the id of the aggregate, `event_id` the UUID of the event, and `at` the time
 * of the event (RFC 3339 UTC).
 */
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
  /**
   * The hash of the event's leaf in the audit tree. Only an event whose bytes were dropped has it, because the hash
   * covers the bytes (see `withoutBytes`).
   */
  readonly leaf?: string;
};

/** A reference to an event that is the reason for something, such as `decided_by` in an API response. */
export type EventRef = { readonly event_id: string; readonly type: string; readonly at: string };

/** What the name of a stream contains instead of a tenant id if the aggregate belongs to the platform. */
export const PLATFORM = 'platform';

export const streamName = (category: string, tenant: string, id: string): string => `${category}-${tenant}.${id}`;

/**
 * Splits a stream name of the form `<category>-<tenant>.<id>`. Returns null for any other name, such as that of a
 * system stream.
 */
export const parseStream = (stream: string): { category: string; tenant: string; id: string } | null => {
  const match = /^([a-z]+)-([a-z0-9]+)\.(.+)$/.exec(stream);
  return match ? { category: match[1]!, tenant: match[2]!, id: match[3]! } : null;
};

/**
 * Compares two positions for sorting: the result is negative if `a` is earlier, zero if they are equal, and positive if
 * `a` is later.
 */
export const comparePositions = (a: Position, b: Position): number =>
  a.commit === b.commit ? Number(a.prepare > b.prepare) - Number(a.prepare < b.prepare) : a.commit > b.commit ? 1 : -1;

/** A sort key that is greater than the sort key of every position. */
export const MAX_SORT_KEY = '9'.repeat(40);

/** Returns the consistency token of a position: `<commit>:<prepare>`. */
export const tokenOf = ({ commit, prepare }: Position): string => `${commit}:${prepare}`;

/**
 * Returns the sort key of a position: a text of 40 digits. If sort keys are sorted as texts, they are in the order of
 * their positions.
 */
export const sortKey = ({ commit, prepare }: Position): string => `${commit}`.padStart(20, '0') + `${prepare}`.padStart(20, '0');

export const positionOfSortKey = (key: string): Position => ({ commit: BigInt(key.slice(0, 20)), prepare: BigInt(key.slice(20)) });

export const parseToken = (token: string): Position | null => {
  const match = /^(\d{1,19}):(\d{1,19})$/.exec(token);
  return match ? { commit: BigInt(match[1]!), prepare: BigInt(match[2]!) } : null;
};
