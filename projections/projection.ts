import type { DomainEvent, Recorded } from '../domain/event.ts';
import type { Table } from './table.ts';

export type Key = Readonly<Record<string, string>>;
export type Row = Record<string, unknown>;

/** What an event does to a row. A `patch` or `add` whose row is not there is an error: the event is parked. */
export type Change =
  | { readonly op: 'insert'; readonly table: string; readonly row: Row }
  | { readonly op: 'patch'; readonly table: string; readonly key: Key; readonly fields: Row }
  | { readonly op: 'remove'; readonly table: string; readonly key: Key }
  | { readonly op: 'add'; readonly table: string; readonly key: Key; readonly amounts: Readonly<Record<string, number>> };

export type Changes = Change | readonly Change[];

/** `ignore`: the event shows nowhere, but it still moves the revision of its stream's row. */
export type Handler<E extends DomainEvent> = 'ignore' | ((event: Recorded<E>) => Changes);

/**
 * A pure map from events to row changes. It owns the Postgres schema of its name and follows the streams of its categories ('*': all).
 * A new `version` is rebuilt beside the old one and takes its place.
 */
export type Projection<E extends DomainEvent = DomainEvent> = {
  readonly name: string;
  readonly version: number;
  readonly categories: readonly string[] | '*';
  readonly tables: readonly Table[];
  readonly on: { readonly [T in E['type']]: Handler<Extract<E, { type: T }>> };
  /** For a projection of every event there is; runs where `on` has no entry. */
  readonly every?: (event: Recorded) => Changes;
  /** The newest version known of an event's data, where it is not 1; an event of a later one is parked. */
  readonly versions?: Readonly<Record<string, number>>;
};

/** A projection whatever its events: what the engine takes. */
export type AnyProjection = Omit<Projection, 'on'> & { readonly on: Readonly<Record<string, Handler<never>>> };

export const insert = (table: string, row: Row): Change => ({ op: 'insert', table, row });
export const patch = (table: string, key: Key, fields: Row): Change => ({ op: 'patch', table, key, fields });
export const remove = (table: string, key: Key): Change => ({ op: 'remove', table, key });
export const add = (table: string, key: Key, amounts: Readonly<Record<string, number>>): Change => ({ op: 'add', table, key, amounts });
