/** Who did it: a person, an agent's runner, or the platform itself; `key_id` names the API key that was used. */
export type Actor = { kind: 'user' | 'agent' | 'system'; id: string; key_id?: string | null };

/** Where an event lies in the log. Only its order means anything: it is never computed. */
export type Position = { commit: bigint; prepare: bigint };

/** What an aggregate decides. `data` bears the field names of the interface, flat and only what changed. */
export type DomainEvent = { readonly type: string; readonly data: object };

/** What is kept beside every event's data. `facts` are what we know of an event whose data are somebody else's bytes. */
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

/** An event as the log holds it. `id` is the aggregate's id, `event_id` the event's own UUID, `at` RFC 3339 UTC. */
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

/** An event that decided something, as explanations name it. */
export type EventRef = { readonly event_id: string; readonly type: string; readonly at: string };

/** The tenant part of streams that belong to no tenant. */
export const PLATFORM = 'platform';

export const streamName = (category: string, tenant: string, id: string): string => `${category}-${tenant}.${id}`;

/** Splits `<category>-<tenant>.<id>`; null for a name of another form (system streams). */
export const parseStream = (stream: string): { category: string; tenant: string; id: string } | null => {
  const match = /^([a-z]+)-([a-z0-9]+)\.(.+)$/.exec(stream);
  return match ? { category: match[1]!, tenant: match[2]!, id: match[3]! } : null;
};

export const comparePositions = (a: Position, b: Position): number =>
  a.commit === b.commit ? Number(a.prepare > b.prepare) - Number(a.prepare < b.prepare) : a.commit > b.commit ? 1 : -1;

/** Later than any position, as text that sorts. */
export const MAX_SORT_KEY = '9'.repeat(40);

/** A position as clients carry it, `<commit>:<prepare>`. */
export const tokenOf = ({ commit, prepare }: Position): string => `${commit}:${prepare}`;

/** A position as text that sorts as positions do. */
export const sortKey = ({ commit, prepare }: Position): string => `${commit}`.padStart(20, '0') + `${prepare}`.padStart(20, '0');

/** Reads a token; null where it is none. */
export const parseToken = (token: string): Position | null => {
  const match = /^(\d{1,19}):(\d{1,19})$/.exec(token);
  return match ? { commit: BigInt(match[1]!), prepare: BigInt(match[2]!) } : null;
};
