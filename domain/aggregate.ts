import type { DomainEvent, Recorded } from './event.ts';
import type { Transient } from './immutable-record.ts';

/**
 * What the module of an aggregate exports: the category of its streams, its state before the first event, and `evolve`.
 */
export type Aggregate<S, E extends DomainEvent> = {
  readonly category: string;
  readonly initial: S;
  /**
   * Returns the state after `event`. With `transient`, it can change the records in `transient` in place instead of
   * copying them.
   */
  readonly evolve: (state: S, event: Recorded<E>, transient?: Transient) => S;
  /** If true, the aggregate belongs to the platform and not to a tenant, so its id alone identifies its stream. */
  readonly platform?: boolean;
  /**
   * Makes it possible to load the state of a long stream from its last events only. If it is given, at least one of
   * every `interval` events has, in its metadata, the state before that event. The state must consist of JSON values.
   * If its fields or their meaning change, `version` must change, too: stored states of other versions are not used.
   */
  readonly snapshots?: { readonly version: number; readonly interval: number };
};

// biome-ignore lint/suspicious/noExplicitAny: for lists of aggregates of every kind
export type AnyAggregate = Aggregate<any, any>;

/**
 * A function that receives the state of an aggregate and returns the events to append. An empty list means that nothing
 * is to be done.
 * @throws Refusal if this state does not allow the command
 */
export type Decision<S, E extends DomainEvent> = (state: S) => readonly E[];

/** Applies the events, in order, to the state `from` and returns the resulting state. */
export const fold = <S, E extends DomainEvent>(
  aggregate: Aggregate<S, E>,
  events: Iterable<Recorded<E>>,
  from: S = aggregate.initial,
): S => {
  const transient: Transient = new WeakSet();
  let state = from;
  for (const event of events) state = aggregate.evolve(state, event, transient);
  return state;
};

/**
 * Returns the fields of `wanted` whose values differ from those in `current`. Values are compared as JSON. Undefined
 * fields are left out.
 */
export const changedFields = <T extends object>(current: object, wanted: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => value !== undefined && !jsonEqual((current as Record<string, unknown>)[name], value)),
  ) as Partial<T>;

/**
 * Prepares a partial update in which null means "reset". Each null is replaced by the value of the same field in
 * `resets`. Undefined fields, and null fields without a value in `resets`, are left out.
 */
export const applyResets = <T extends object, Resets extends Partial<Record<keyof T, unknown>>>(
  fields: T,
  resets: Resets,
): { [Name in keyof T]?: NonNullable<T[Name]> | (Name extends keyof Resets ? Resets[Name] : never) } =>
  Object.fromEntries(
    Object.entries(fields)
      .map(([name, value]) => [name, value === null ? resets[name as keyof T] : value])
      .filter(([, value]) => value !== undefined),
  );

/**
 * Whether two values have the same JSON text. Objects are equal only if their fields have the same order. Undefined
 * counts as null.
 */
export const jsonEqual = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
