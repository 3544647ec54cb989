import type { DomainEvent, Recorded } from './event.ts';
import type { Transient } from './immutable-record.ts';

/**
 * What the module of an aggregate exports: the category of its streams, its state before the first event, and `evolve`.
 */
export type Aggregate<S, E extends DomainEvent> = {
  readonly category: string;
  readonly initial: S;
  /**
   * Returns the state after `event`. If `transient` is given, `evolve` may change the records in it instead of copying
   * them.
   */
  readonly evolve: (state: S, event: Recorded<E>, transient?: Transient) => S;
  /** If true, the aggregate belongs to the platform and not to a tenant. Its id alone then identifies its stream. */
  readonly platform?: boolean;
  /**
   * If given, a long stream is loaded from its last events only: of every `interval` events, at least one has a snapshot
   * of the state before it in its metadata. The state must consist of JSON values. Raise `version` when the fields of the
   * state or their meaning change: snapshots of other versions are ignored.
   */
  readonly snapshots?: { readonly version: number; readonly interval: number };
};

// biome-ignore lint/suspicious/noExplicitAny: lists of aggregates contain every kind
export type AnyAggregate = Aggregate<any, any>;

/**
 * A function that receives the state of an aggregate and returns the events to append; an empty list if nothing is to
 * be changed.
 * @throws Refusal if the command is not possible in this state
 */
export type Decision<S, E extends DomainEvent> = (state: S) => readonly E[];

/** Applies the events to the state `from`, in their order, and returns the resulting state. */
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
 * Returns those fields of `wanted` whose values differ from the values in `current`. Values are compared as JSON.
 * Fields that are undefined are left out.
 */
export const changedFields = <T extends object>(current: object, wanted: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => value !== undefined && !jsonEqual((current as Record<string, unknown>)[name], value)),
  ) as Partial<T>;

/**
 * Prepares a partial update in which null means "reset". Each null is replaced by the value of this field in `resets`;
 * if `resets` has no such value, the field is left out. Undefined fields are left out, too.
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
 * Returns whether two values have the same JSON text. The order of the fields of an object matters. Undefined counts as
 * null.
 */
export const jsonEqual = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
