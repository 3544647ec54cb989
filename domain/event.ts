/** Who caused an event: a user, an agent's runner, or the platform itself. `key_id` is the API key that was used. */
export type Actor = { kind: 'user' | 'agent' | 'system'; id: string; key_id?: string | null };

/** An event's place in the log. Positions can be compared, but not computed. */
export type Position = { commit: bigint; prepare: bigint };

/**
 * An event that an aggregate decides on. `data` is flat, has the field names of the API, and contains only what
 * changed.
 */
export type DomainEvent = { readonly type: string; readonly data: object };

/** What is stored beside an event's data. `facts` describe an event whose data are a provider's bytes. */
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
};

/** An event as stored in the log. `id` is the aggregate's id, `event_id` the event's own UUID, `at` is RFC 3339 UTC. */
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
};

/** A reference to the event that caused something, for explanations such as `decided_by`. */
export type EventRef = { readonly event_id: string; readonly type: string; readonly at: string };

/** The tenant part of the names of platform-wide streams. */
export const PLATFORM = 'platform';

export const streamName = (category: string, tenant: string, id: string): string => `${category}-${tenant}.${id}`;

/** Splits `<category>-<tenant>.<id>`; returns null for a name of another form, such as a system stream's. */
export const parseStream = (stream: string): { category: string; tenant: string; id: string } | null => {
  const match = /^([a-z]+)-([a-z0-9]+)\.(.+)$/.exec(stream);
  return match ? { category: match[1]!, tenant: match[2]!, id: match[3]! } : null;
};

/** Compares two positions for sorting: negative, zero or positive. */
export const comparePositions = (a: Position, b: Position): number =>
  a.commit === b.commit ? Number(a.prepare > b.prepare) - Number(a.prepare < b.prepare) : a.commit > b.commit ? 1 : -1;

/** A sort key after that of any position. */
export const MAX_SORT_KEY = '9'.repeat(40);

/** The consistency token of a position: `<commit>:<prepare>`. */
export const tokenOf = ({ commit, prepare }: Position): string => `${commit}:${prepare}`;

/** Text that sorts in the order of positions. */
export const sortKey = ({ commit, prepare }: Position): string => `${commit}`.padStart(20, '0') + `${prepare}`.padStart(20, '0');

/** Parses a consistency token; returns null if it is malformed. */
export const parseToken = (token: string): Position | null => {
  const match = /^(\d{1,19}):(\d{1,19})$/.exec(token);
  return match ? { commit: BigInt(match[1]!), prepare: BigInt(match[2]!) } : null;
};
