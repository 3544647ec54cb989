import type { DomainEvent, Recorded } from './event.ts';
import type { Transient } from './immutable-record.ts';

/** An aggregate as a module: the category of its streams, the state before the first event, and the fold. */
export type Aggregate<S, E extends DomainEvent> = {
  readonly category: string;
  readonly initial: S;
  /** Applies one event. With `transient`, records that this fold has copied are changed in place. */
  readonly evolve: (state: S, event: Recorded<E>, transient?: Transient) => S;
  /** The aggregate's streams belong to the platform, so that it is found without a tenant in the path. */
  readonly platform?: boolean;
};

// biome-ignore lint/suspicious/noExplicitAny: for lists of aggregates of every kind
export type AnyAggregate = Aggregate<any, any>;

/** Returns the events that follow from the state; an empty list means that there is nothing to do. @throws Refusal */
export type Decision<S, E extends DomainEvent> = (state: S) => readonly E[];

/** Folds events into a state. */
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
 * Returns the fields of `wanted` that differ from those of `current`, compared as JSON. Undefined fields are left out.
 */
export const changedFields = <T extends object>(current: object, wanted: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => value !== undefined && !jsonEqual((current as Record<string, unknown>)[name], value)),
  ) as Partial<T>;

/**
 * Resolves the nulls of a partial update: null becomes the field's value in `resets`; a field without one is left out.
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

/** Whether two values have the same JSON, including the order of their fields. Undefined equals null. */
export const jsonEqual = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
