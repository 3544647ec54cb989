import { comparePositions, type Position, type Recorded } from '../../domain/event.ts';
import type { CompiledTable, StoredRow } from '../../projections/engine/compiled-projection.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import type { Log } from '../eventstore/event-log.ts';
import { eventsFor, foldRows, type SampledRow, textOf } from './fold-rows.ts';

type Fields = ReadonlyMap<string, string>;

/**
 * Tracks, for one drifted row, at which event each field began to differ from the stored row. Each field is tracked
 * separately. So an event that was never applied is found even if later events were applied.
 */
type Track = {
  readonly stored: Fields;
  /**
   * Maps the name of a field to the event since which its folded value has differed from its stored value; null while
   * they are equal.
   */
  readonly divergedAt: Map<string, Recorded | null>;
  lastRow: StoredRow | undefined;
};

/**
 * Returns the fields of a row's documents, each named `<index of the document>.<field>`. If a document is a list, its
 * items count as fields.
 */
const docFieldsOf = (row: StoredRow | undefined): [string, string][] =>
  (row?.docs ?? []).flatMap((text, index) =>
    Object.entries(JSON.parse(text) as object).map(([name, value]): [string, string] => [`${index}.${name}`, textOf(value)]),
  );

/** Returns everything in which two versions of a row can differ: existence, columns, fields of the documents, and revision. */
const fieldsOf = ({ table, columns }: CompiledTable, row: StoredRow | undefined): Fields =>
  new Map([
    ['', String(row !== undefined)],
    ...columns.map(([name]): [string, string] => [name, textOf(row?.row[name])]),
    ...docFieldsOf(row),
    ...(table.stream ? [['revision', textOf(row?.revision)] as const] : []),
  ]);

const update = (track: Track, fields: Fields, event: Recorded): void => {
  for (const name of new Set([...track.stored.keys(), ...fields.keys()])) {
    if (track.stored.get(name) === fields.get(name)) track.divergedAt.set(name, null);
    else if (!track.divergedAt.get(name)) track.divergedAt.set(name, event);
  }
};

/**
 * Returns the first event at which a field of the stored row began to differ from the expected row. The field
 * `revision` is considered only if no other field differs.
 */
const firstOf = ({ divergedAt }: Track): Recorded | null => {
  const diverged = [...divergedAt].flatMap(([name, event]) => (event ? [{ name, event }] : []));
  const fields = diverged.filter(({ name }) => name !== 'revision');
  const events = (fields.length > 0 ? fields : diverged).map(({ event }) => event);
  return events.sort((a, b) => comparePositions(a.position, b.position))[0] ?? null;
};

/** Returns for each drifted row the first event that the stored row does not reflect; null if there is none. */
export const firstDivergences = async (
  log: Log,
  projection: AnyProjection,
  rows: readonly SampledRow[],
  until: Position,
): Promise<Map<SampledRow, Recorded | null>> => {
  const tracks = new Map<SampledRow, Track>(
    rows.map((sampled) => [sampled, { stored: fieldsOf(sampled.table, sampled.row), divergedAt: new Map(), lastRow: undefined }]),
  );
  await foldRows(projection, eventsFor(log, projection), {
    rows,
    until,
    onEvent: (rowOf, event) => {
      for (const [sampled, track] of tracks) {
        const row = rowOf(sampled);
        if (row === track.lastRow) continue;
        track.lastRow = row;
        update(track, fieldsOf(sampled.table, row), event);
      }
    },
  });
  return new Map([...tracks].map(([sampled, track]) => [sampled, firstOf(track)]));
};
