import type { DomainEvent, Recorded } from './event.ts';
import type { Transient } from './immutable-record.ts';

/** A module that decides: its stream category, the state before the first event, and the fold. */
export type Aggregate<S, E extends DomainEvent> = {
  readonly category: string;
  readonly initial: S;
  /** `own`: of a fold that shows nobody the states between. */
  readonly evolve: (state: S, event: Recorded<E>, own?: Transient) => S;
  /** Lives in a platform-wide stream, found without a tenant in the path. */
  readonly platform?: boolean;
};

// biome-ignore lint/suspicious/noExplicitAny: where aggregates of every kind are named alike
export type AnyAggregate = Aggregate<any, any>;

/** A decision: what follows from the state; an empty list means nothing to do. @throws Refusal */
export type Decision<S, E extends DomainEvent> = (state: S) => readonly E[];

export const fold = <S, E extends DomainEvent>(
  aggregate: Aggregate<S, E>,
  events: Iterable<Recorded<E>>,
  from: S = aggregate.initial,
): S => {
  const own: Transient = new WeakSet();
  let state = from;
  for (const event of events) state = aggregate.evolve(state, event, own);
  return state;
};

/** The fields of `wanted` that differ from what `current` holds, compared by their JSON. */
export const changedFields = <T extends object>(current: object, wanted: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => value !== undefined && !jsonEqual((current as Record<string, unknown>)[name], value)),
  ) as Partial<T>;

/** A partial update as it is meant: null is the field's value in `resets`, and of a field that has none there leaves it as it is. */
export const applyResets = <T extends object, Resets extends Partial<Record<keyof T, unknown>>>(
  fields: T,
  resets: Resets,
): { [Name in keyof T]?: NonNullable<T[Name]> | (Name extends keyof Resets ? Resets[Name] : never) } =>
  Object.fromEntries(
    Object.entries(fields)
      .map(([name, value]) => [name, value === null ? resets[name as keyof T] : value])
      .filter(([, value]) => value !== undefined),
  );

export const jsonEqual = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
