import type { DomainEvent, Recorded } from './event.ts';
import type { Transient } from './immutable-record.ts';

/**
 * What a module of an aggregate exports: the category of its streams, the state before the first event, and `evolve`.
 */
export type Aggregate<S, E extends DomainEvent> = {
  readonly category: string;
  readonly initial: S;
  /** Returns the state after one event. With `transient`, it may change records in place that this fold has created. */
  readonly evolve: (state: S, event: Recorded<E>, transient?: Transient) => S;
  /** If true, the streams belong to the platform. The aggregate is found by its id alone, without a tenant. */
  readonly platform?: boolean;
};

// biome-ignore lint/suspicious/noExplicitAny: for lists of aggregates of every kind
export type AnyAggregate = Aggregate<any, any>;

/**
 * Decides on a state: returns the events to append. An empty list means that there is nothing to do.
 * @throws Refusal
 */
export type Decision<S, E extends DomainEvent> = (state: S) => readonly E[];

/** Applies events to a state, one after another, and returns the last state. */
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
 * Returns the fields of `wanted` that differ from those of `current`. Values are compared as JSON. Undefined fields are
 * left out.
 */
export const changedFields = <T extends object>(current: object, wanted: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => value !== undefined && !jsonEqual((current as Record<string, unknown>)[name], value)),
  ) as Partial<T>;

/**
 * Replaces each null in a partial update by the value of that field in `resets`. Omits fields that are undefined, and
 * those that are null and have no value in `resets`.
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

/** Whether two values have the same JSON, including the order of fields. Undefined counts as null. */
export const jsonEqual = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
