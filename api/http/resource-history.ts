import type { Permit } from '../../domain/access/permission.ts';
import { type Aggregate, fold, jsonEqual } from '../../domain/aggregate.ts';
import { comparePositions, type DomainEvent, type Position, type Recorded, tokenOf } from '../../domain/event.ts';
import { Instant } from '../../domain/fields.ts';
import type { ById, Transient } from '../../domain/immutable-record.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { readCursorKey, writeCursor } from '../../projections/cursor.ts';
import { takeUpToPageSize } from '../../projections/read-model.ts';
import { AS_OF_PROJECTION, resolvePosition } from './as-of.ts';
import { type Change, DiffQuery, HistoryEntries, type HistoryEntry, ResourceDiff } from './history-schemas.ts';
import { type Said, saidIn } from './history-sentence.ts';
import { pathParameters } from './json-schema.ts';
import { type Ctx, type Operations, operation, type TypedOperation } from './operation.ts';
import { listQuery, type PageWindow } from './paging.ts';
import { scopedCache } from './scoped-cache.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * A map in a resource whose entries are compared one by one, such as the members of a tenant. `show` returns what a
 * history shows of an entry. For a secret, this is a fixed text, so that the history shows only that the secret
 * changed.
 */
export type EntryMap<S> = { readonly of: (state: S) => ById<unknown>; readonly show: (entry: never) => unknown };

/** What a history shows instead of the old and the new value of a secret. */
export const HIDDEN = '***';

export type HistorySubject<S, E extends DomainEvent> = {
  readonly aggregate: Aggregate<S, E>;
  /** The path of the resource. Its last parameter is the id. */
  readonly path: string;
  readonly permit: Permit;
  /** The name of the resource in texts, such as `agent`. */
  readonly noun: string;
  /** Returns the fields that a history shows. The state has at least one event. */
  readonly fieldsOf: (state: S) => Fields;
  /**
   * Returns all events of the resource, oldest first. It is needed only if they are in several streams; if absent, the
   * events are those of the stream of `aggregate`.
   */
  readonly eventsOf?: (ctx: Ctx, id: string) => Promise<readonly Recorded<E>[]>;
  /**
   * The maps whose entries the history compares one by one. The JSON pointer of such a change starts with the key of
   * the map.
   */
  readonly entryMaps?: Readonly<Record<string, EntryMap<S>>>;
  /**
   * Returns a function that says which states of the resource the caller may read; if absent, the caller may read all.
   * If the caller may not read the present state, the resource counts as not found. Earlier states that the caller may
   * not read are shown as empty.
   */
  readonly readableStates?: (ctx: Ctx) => Promise<(state: S) => boolean>;
};

// biome-ignore lint/suspicious/noExplicitAny: for subjects of every kind
export type AnySubject = HistorySubject<any, any>;
type State = unknown;
type Step = { readonly event: Recorded; readonly before: State; readonly after: State };

const changesOfFields = (from: Fields, to: Fields): Change[] =>
  Object.keys({ ...from, ...to })
    .filter((name) => !jsonEqual(from[name], to[name]))
    .map((name) => ({ pointer: `/${name}`, from: from[name] ?? null, to: to[name] ?? null }));

/** Returns the changes between two maps. The stored values of secrets are compared, but not shown. */
const changesOfEntries = (name: string, show: (entry: never) => unknown, from: ById<unknown>, to: ById<unknown>): Change[] => {
  if (from === to) return [];
  const shown = (entry: unknown): unknown => (entry === undefined ? null : show(entry as never));
  return Object.keys({ ...from, ...to }).flatMap((key) => {
    if (jsonEqual(from[key], to[key])) return [];
    const [before, after] = [shown(from[key]), shown(to[key])];
    return jsonEqual(before, after) && after !== HIDDEN ? [] : [{ pointer: `/${name}/${key}`, from: before, to: after }];
  });
};

/** Returns the differences between two states of a resource, in the form in which its history shows them. */
export const changesBetween = ({ aggregate, fieldsOf, entryMaps = {} }: AnySubject, from: State, to: State): Change[] => {
  const fields = (state: State): Fields => (state === aggregate.initial ? {} : fieldsOf(state));
  const entries = ({ of }: EntryMap<never>, state: State): ById<unknown> => (state === aggregate.initial ? {} : of(state as never));
  return [
    ...changesOfFields(fields(from), fields(to)),
    ...Object.entries(entryMaps).flatMap(([name, map]) => changesOfEntries(name, map.show, entries(map, from), entries(map, to))),
  ];
};

const entryOf = (subject: AnySubject, { event, before, after }: Step, { names, sentence }: Said): HistoryEntry => {
  const { event_id, type, at, meta, revision } = event;
  const actor = { ...event.actor, ...names };
  const changes = changesBetween(subject, before, after).filter(({ pointer }) => pointer !== '/updated_at');
  return { event_id, type, at, actor, sentence, cause: meta.$causationId ?? null, position: tokenOf(event.position), revision, changes };
};

/**
 * Before each event whose index is a multiple of this number, the state of the resource is cached. With it, a later
 * page of the history can be read without applying all earlier events. Cached states stay valid, because stored events
 * never change.
 */
const STATE_INTERVAL = 200;
const MAX_CACHED_STATES = 500;

const cachedStates = scopedCache<State>(MAX_CACHED_STATES);

/**
 * The events of one resource. They can come from several streams, so the index of an event is not always its revision.
 */
type Source = {
  readonly id: string;
  readonly state: State;
  readonly total: number;
  readonly position: Position | null;
  readonly read: (from?: number, limit?: number) => AsyncIterable<Recorded>;
};

const sourceOf = async (ctx: Ctx, { aggregate, eventsOf }: AnySubject, id: string): Promise<Source> => {
  if (!eventsOf) {
    const { state, revision, position } = await ctx.load(aggregate, id);
    const read: Source['read'] = (from = 0, limit) => ctx.log.history(aggregate, id, { from, ...(limit === undefined ? {} : { limit }) });
    return { id, state, total: revision + 1, position, read };
  }
  const events = await eventsOf(ctx, id);
  const read: Source['read'] = async function* (from = 0, limit = events.length) {
    yield* events.slice(from, from + limit);
  };
  return { id, state: fold(aggregate, events), total: events.length, position: events.at(-1)?.position ?? null, read };
};

/**
 * Returns the state of a resource before the event with the index `end`. It is computed from the nearest cached state
 * and the events after it.
 */
const stateBefore = async (ctx: Ctx, { aggregate }: AnySubject, { id, read }: Source, end: number): Promise<State> => {
  const keyOf = (at: number): string => `${aggregate.category}-${ctx.tenant}.${id}@${at}`;
  let index = end - (end % STATE_INTERVAL);
  while (index > 0 && !cachedStates.get(ctx.reads, keyOf(index))) index -= STATE_INTERVAL;
  let state = cachedStates.get(ctx.reads, keyOf(index)) ?? aggregate.initial;
  let transient: Transient = new WeakSet();
  if (index === end) return state;
  for await (const event of read(index, end - index)) {
    state = aggregate.evolve(state, event, transient);
    index++;
    if (index % STATE_INTERVAL !== 0) continue;
    cachedStates.set(ctx.reads, keyOf(index), state);
    transient = new WeakSet();
  }
  return state;
};

type EventRange = { readonly from: number; readonly end: number };

/**
 * Returns the events with the indices from `from` (inclusive) to `end` (exclusive), newest first, each with the states
 * before and after it.
 */
const stepsOf = async (ctx: Ctx, subject: AnySubject, source: Source, { from, end }: EventRange): Promise<Step[]> => {
  if (from >= end) return [];
  const steps: Step[] = [];
  let before = await stateBefore(ctx, subject, source, from);
  for await (const event of source.read(from, end - from)) {
    const after: State = subject.aggregate.evolve(before, event);
    steps.push({ event, before, after });
    before = after;
  }
  return steps.reverse();
};

/**
 * Finds the resource. Also returns the function `readable`: it returns a given state if the caller may read this state,
 * and otherwise the empty initial state.
 * @throws Refusal not_found if the resource does not exist, or if the caller may not read it
 */
const findReadable = async (ctx: Ctx, subject: AnySubject, id: string) => {
  const { aggregate, noun, readableStates } = subject;
  const [source, isReadable] = await Promise.all([sourceOf(ctx, subject, id), readableStates?.(ctx)]);
  const { position, state } = source;
  if (!position || (isReadable && !isReadable(state))) throw new Refusal('not_found', `There is no such ${noun}`);
  const readable = (one: State): State => (!isReadable || isReadable(one) ? one : aggregate.initial);
  return { source, position, readable };
};

/**
 * Lists the events of a resource, newest first, each with the fields that it changed. To get the state before the page,
 * earlier events are applied: fewer than STATE_INTERVAL of them if a state near the page is cached.
 * @throws Refusal not_found, invalid
 */
const readHistory = async (ctx: Ctx, subject: AnySubject, id: string, { limit, cursor }: PageWindow) => {
  const { source, position, readable } = await findReadable(ctx, subject, id);
  const cursorKey = readCursorKey(cursor, 'bigint', null);
  const end = Math.min(Number(cursorKey?.[0] ?? Number.POSITIVE_INFINITY), source.total);
  const steps = await stepsOf(ctx, subject, source, { from: Math.max(0, end - limit), end });
  const sayOf = await saidIn(ctx);
  const said = await Promise.all(steps.map(({ event }) => sayOf(event)));
  const entries = Iterator.from(steps).map(({ event, before, after }, index) =>
    JSON.stringify(entryOf(subject, { event, before: readable(before), after: readable(after) }, said[index]!)),
  );
  const docs = takeUpToPageSize(entries);
  const first = end - docs.length;
  const next = first > 0 && docs.length > 0 ? writeCursor([first, steps[docs.length - 1]!.event.event_id], null) : null;
  return { body: `[${docs}]`, next, total: source.total, position };
};

const stateAt = async ({ aggregate }: AnySubject, { read }: Source, until: Position): Promise<State> => {
  const transient: Transient = new WeakSet();
  let state: State = aggregate.initial;
  for await (const event of read()) {
    if (comparePositions(event.position, until) > 0) break;
    state = aggregate.evolve(state, event, transient);
  }
  return state;
};

/** The clock of a client may be ahead of the server's clock by this many milliseconds. */
const MAX_CLOCK_SKEW_MS = 60_000;

const timeOf = (text: string): number => Date.parse(Instant.safeParse(text).data ?? '');

/**
 * Returns the log positions for the query parameters `from` and `to`. If `to` is absent, its position is `latest`, that
 * of the last event of the resource.
 * @throws Refusal invalid if one of them is in the future, or if `from` is after `to`
 */
const positionsBetween = async (ctx: Ctx, from: string, to: string | undefined, latest: Position): Promise<[Position, Position]> => {
  for (const [name, text] of Object.entries({ from, to }))
    if (text !== undefined && timeOf(text) > Date.parse(ctx.at()) + MAX_CLOCK_SKEW_MS)
      throw invalid(`/query/${name}`, 'must not be a time in the future', 'in_future');
  const first = await resolvePosition(ctx, from, 'from');
  if (to === undefined) return [first, comparePositions(first, latest) > 0 ? first : latest];
  const last = await resolvePosition(ctx, to, 'to');
  // If the tenant has no event between two times, both have the same log position. So compare the times, too.
  if (comparePositions(first, last) > 0 || timeOf(from) > timeOf(to)) throw invalid('/query/from', 'must not be after `to`', 'after_to');
  return [first, last];
};

const diff = async (ctx: Ctx, subject: AnySubject, id: string, { from, to }: { from: string; to?: string | undefined }) => {
  const { source, position, readable } = await findReadable(ctx, subject, id);
  const [first, last] = await positionsBetween(ctx, from, to, position);
  const [before, after] = await Promise.all([stateAt(subject, source, first), stateAt(subject, source, last)]);
  const state = { id, from: tokenOf(first), to: tokenOf(last), changes: changesBetween(subject, readable(before), readable(after)) };
  // There is no ETag: `from` and `to` can be times, and a time can have another position later without a change of the
  // resource's revision.
  return { id, revision: -1, position, state };
};

const HistoryQuery = listQuery({}).omit({ sort: true });

type HistoryOperation<Path extends string> = TypedOperation<`${Path}/history`, typeof HistoryQuery, undefined, typeof HistoryEntries>;
type DiffOperation<Path extends string> = TypedOperation<`${Path}/diff`, typeof DiffQuery, undefined, typeof ResourceDiff>;

type HistoryOperations<Name extends string, Path extends string> = { readonly [Id in `read${Name}History`]: HistoryOperation<Path> } & {
  readonly [Id in `diff${Name}`]: DiffOperation<Path>;
};

/**
 * Returns the operations that read the history of a resource: the list of its events, and the differences between two
 * times or positions. `name` is the name of the resource in operation ids, such as `Agent`.
 */
export const historyOperationsOf = <S, E extends DomainEvent, const Name extends string, const Path extends string>(
  name: Name,
  subject: HistorySubject<S, E> & { readonly path: Path },
): HistoryOperations<Name, Path> => {
  const { path, permit, noun } = subject;
  const idIn = (input: object): string => (input as Record<string, string>)[pathParameters(path).at(-1)!]!;
  const operations: Operations = {
    [`read${name}History`]: operation({
      method: 'get',
      path: `${path}/history`,
      summary: `List the ${noun}'s events`,
      details: 'Each entry has the fields that the event changed.',
      permit,
      query: HistoryQuery,
      reply: HistoryEntries,
      run: (ctx, input) => readHistory(ctx, subject, idIn(input), input),
    }),
    [`diff${name}`]: operation({
      method: 'get',
      path: `${path}/diff`,
      summary: `Compare the ${noun} at two times or positions`,
      permit,
      query: DiffQuery,
      reply: ResourceDiff,
      projection: AS_OF_PROJECTION,
      noETag: true,
      run: (ctx, input) => diff(ctx, subject, idIn(input), input),
    }),
  };
  return operations as HistoryOperations<Name, Path>;
};
