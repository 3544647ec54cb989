import type { DomainEvent, Recorded } from '../domain/event.ts';
import type { Table } from './table.ts';

export type Key = Readonly<Record<string, string>>;
export type Row = Record<string, unknown>;

/** What an event does to a row. If the row of a `patch` or `add` does not exist, the event is parked. */
export type Change =
  | { readonly op: 'insert'; readonly table: string; readonly row: Row }
  | { readonly op: 'patch'; readonly table: string; readonly key: Key; readonly fields: Row }
  | { readonly op: 'remove'; readonly table: string; readonly key: Key }
  | { readonly op: 'add'; readonly table: string; readonly key: Key; readonly amounts: Readonly<Record<string, number>> };

export type Changes = Change | readonly Change[];

/** `ignore`: the event changes no row, except for the revision of its stream's row. */
export type Handler<E extends DomainEvent> = 'ignore' | ((event: Recorded<E>) => Changes);

/**
 * A pure function from events to row changes. It owns the Postgres schema of its name and handles the streams of its
 * categories ('*': all). A new `version` is rebuilt in a shadow schema and then replaces the old one.
 */
export type Projection<E extends DomainEvent = DomainEvent> = {
  readonly name: string;
  readonly version: number;
  readonly categories: readonly string[] | '*';
  readonly tables: readonly Table[];
  readonly on: { readonly [T in E['type']]: Handler<Extract<E, { type: T }>> };
  /** Handles the events that have no entry in `on`, for a projection of all events. */
  readonly every?: (event: Recorded) => Changes;
  /** The newest known version of an event type's data, if it is not 1. An event of a later version is parked. */
  readonly versions?: Readonly<Record<string, number>>;
};

/** A projection of any events, as the engine uses it. */
export type AnyProjection = Omit<Projection, 'on'> & { readonly on: Readonly<Record<string, Handler<never>>> };

export const insert = (table: string, row: Row): Change => ({ op: 'insert', table, row });
export const patch = (table: string, key: Key, fields: Row): Change => ({ op: 'patch', table, key, fields });
export const remove = (table: string, key: Key): Change => ({ op: 'remove', table, key });
export const add = (table: string, key: Key, amounts: Readonly<Record<string, number>>): Change => ({ op: 'add', table, key, amounts });
