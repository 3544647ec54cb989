import type { DomainEvent, Recorded } from './event.ts';
import type { Transient } from './immutable-record.ts';

export type Aggregate<S, E extends DomainEvent> = {
  readonly category: string;
  readonly initial: S;
  /** May change the records in `transient` instead of copying them. */
  readonly evolve: (state: S, event: Recorded<E>, transient?: Transient) => S;
  /** Belongs to the platform and not to a tenant; its id alone identifies its stream. */
  readonly platform?: boolean;
  /**
   * Loads a long stream from its last events only: of every `interval` events, at least one has the state before it in its metadata. The
   * state must consist of JSON values. Raise `version` when the state's fields or their meaning change: other versions are ignored.
   */
  readonly snapshots?: { readonly version: number; readonly interval: number };
};

// biome-ignore lint/suspicious/noExplicitAny: lists of aggregates contain every kind
export type AnyAggregate = Aggregate<any, any>;

/** Returns the events to append; empty if nothing is to be changed. @throws Refusal if the command is not possible in this state */
export type Decision<S, E extends DomainEvent> = (state: S) => readonly E[];

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

/** Compares values as JSON; leaves out undefined fields. */
export const changedFields = <T extends object>(current: object, wanted: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => value !== undefined && !jsonEqual((current as Record<string, unknown>)[name], value)),
  ) as Partial<T>;

/** Replaces each null by the value in `resets`; leaves out undefined fields, and null fields without such a value. */
export const applyResets = <T extends object, Resets extends Partial<Record<keyof T, unknown>>>(
  fields: T,
  resets: Resets,
): { [Name in keyof T]?: NonNullable<T[Name]> | (Name extends keyof Resets ? Resets[Name] : never) } =>
  Object.fromEntries(
    Object.entries(fields)
      .map(([name, value]) => [name, value === null ? resets[name as keyof T] : value])
      .filter(([, value]) => value !== undefined),
  );

/** The order of an object's fields matters. Undefined counts as null. */
export const jsonEqual = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
