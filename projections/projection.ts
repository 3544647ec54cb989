import type { DomainEvent, Recorded } from '../domain/event.ts';
import type { Table } from './table.ts';

export type Key = Readonly<Record<string, string>>;
export type Row = Record<string, unknown>;

/** An item of a list in a row. Within the list, `event_id` identifies the item. */
export type ListItem = Row & { readonly event_id: string };

/**
 * Options of a `patch`. `ifEqual`: the fields are changed only if the row has these values now. `items`: these items
 * are appended to lists even if the row does not have the values of `ifEqual`; an item replaces an earlier one with the
 * same `event_id`. `maxItems`: these lists keep only this number of items, the newest. `computed`: receives the row after
 * all other changes of the patch, and returns further fields to set; it must be a pure function.
 */
export type PatchOptions = {
  readonly ifEqual?: Row;
  readonly items?: Readonly<Record<string, readonly ListItem[]>>;
  readonly maxItems?: number;
  readonly computed?: (row: Row) => Row;
};

export type RowRef = { readonly table: string; readonly key: Key };

/**
 * Computes fields that depend on other rows. `complete` gets the rows that `reads` names, as they are just before the
 * change; null for a row that does not exist. `complete` must be pure. The tables of these rows need `isReadByChanges`.
 */
export type Derivation = {
  readonly reads: Readonly<Record<string, RowRef>>;
  readonly complete: (found: Readonly<Record<string, Row | null>>) => Row;
};

/**
 * A change that an event makes to a row. For `patch` and `add`, the row must exist; if it does not, the event is
 * parked. In a table that has only counters, `add` creates a missing row instead.
 */
export type Change =
  | { readonly op: 'insert'; readonly table: string; readonly row: Row; readonly derived?: Derivation }
  | ({ readonly op: 'patch'; readonly table: string; readonly key: Key; readonly fields: Row } & PatchOptions)
  | { readonly op: 'remove'; readonly table: string; readonly key: Key }
  | { readonly op: 'add'; readonly table: string; readonly key: Key; readonly amounts: Readonly<Record<string, number>> };

export type Changes = Change | readonly Change[];

/**
 * Returns the changes that an event makes to rows. `ignore` means that the event changes no column; the row of its
 * stream still gets the new revision.
 */
export type Handler<E extends DomainEvent> = 'ignore' | ((event: Recorded<E>) => Changes);

/**
 * A projection: pure functions that turn events into row changes. It handles the streams of its categories (`*` stands
 * for all categories), and has a Postgres schema with its name. If `version` changes, the projection is rebuilt in a
 * shadow schema, which then replaces the old schema.
 */
export type Projection<E extends DomainEvent = DomainEvent> = {
  readonly name: string;
  readonly version: number;
  readonly categories: readonly string[] | '*';
  readonly tables: readonly Table[];
  readonly on: { readonly [T in E['type']]: Handler<Extract<E, { type: T }>> };
  /** Handles every event whose type has no entry in `on`. A projection that handles all event types needs it. */
  readonly every?: (event: Recorded) => Changes;
  /**
   * Maps event types to the newest version of their data that the projection can handle. For a type without an entry,
   * this is 1. An event with a newer version is parked.
   */
  readonly versions?: Readonly<Record<string, number>>;
};

/** A projection of events of any type, for code that handles all projections. */
export type AnyProjection = Omit<Projection, 'on'> & { readonly on: Readonly<Record<string, Handler<never>>> };

export const insert = (table: string, row: Row): Change => ({ op: 'insert', table, row });
/**
 * Returns the change that inserts a row in which some fields depend on other rows. If a row with this key exists and
 * belongs to the same stream, it is replaced.
 */
export const insertDerived = (table: string, row: Row, derived: Derivation): Change => ({ op: 'insert', table, row, derived });
export const patch = (table: string, key: Key, fields: Row, options: PatchOptions = {}): Change => ({
  op: 'patch',
  table,
  key,
  fields,
  ...options,
});
export const remove = (table: string, key: Key): Change => ({ op: 'remove', table, key });
export const add = (table: string, key: Key, amounts: Readonly<Record<string, number>>): Change => ({ op: 'add', table, key, amounts });
