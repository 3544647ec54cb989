import { z } from 'zod';
import { Instant } from '../../domain/fields.ts';
import { invalid } from '../../domain/refusal.ts';
import { type CursorKey, readPlace, writeCursor } from '../../projections/cursor.ts';
import type { Page } from '../../projections/read-model.ts';
import { ignoreUnavailable } from './stale-if-error.ts';

/** JavaScript would read much more as a number: `0x10`, `1e2`, ` 10`, nothing at all. */
const parseDecimal = (text: unknown): unknown => (typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : text);

const DEFAULT_SORTS = ['created_at'] as const;

/** A cursor holds what its list is sorted by: a name of 255 characters, each of which may be six in JSON, takes 2,100 in base64. */
const MAX_CURSOR_LENGTH = 4_000;

/** `limit` (1 to 200, 50), `cursor` (from the Link header of the page before) and `sort` (of these columns), beside an operation's own filters. */
export const listQuery = <Shape extends z.ZodRawShape>(shape: Shape, columns: readonly string[] = DEFAULT_SORTS) =>
  z.strictObject({
    limit: z.preprocess(parseDecimal, z.number('must be written in decimal digits').int().min(1).max(200).default(50)),
    cursor: z.string().max(MAX_CURSOR_LENGTH).optional(),
    // What is none of them is refused by `sorted`, in words.
    sort: z
      .string()
      .max(64)
      .meta({ enum: columns.flatMap((column) => [column, `-${column}`]) })
      .optional(),
    ...shape,
  });

/** `as_of`: an RFC 3339 time or a Consistency-Token. */
export const AsOf = z.string().max(64).optional();

/** The query of a read that can look at another time. */
export const asOfQuery = z.strictObject({ as_of: AsOf });

/** A stretch of time: what lies at its end belongs to the next one. */
export const TimeRange = {
  from: Instant.optional().meta({ description: 'From this time on' }),
  to: Instant.optional().meta({ description: 'Before this time' }),
};

/** A query parameter that is `true` or `false`. */
export const Flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** Reads `sort`: a field of the item, `-` before it for descending; newest first where it is absent. @throws Refusal invalid */
export const parseSort = (sort: string | undefined, columns: readonly string[]): { column: string; descending: boolean } => {
  if (sort === undefined) return { column: 'created_at', descending: true };
  const column = sort.replace(/^-/, '');
  if (!columns.includes(column)) throw invalid('/query/sort', `can be sorted by ${columns.join(', ')}`, 'unknown_field');
  return { column, descending: sort.startsWith('-') };
};

/** What a list was asked for, beside its own filters. */
export type PageWindow = { readonly limit: number; readonly cursor?: string | undefined; readonly sort?: string | undefined };

/** The window of a list: sort, limit and cursor. */
export const windowOf = ({ limit, cursor, sort }: PageWindow, columns: readonly string[] = DEFAULT_SORTS) => ({
  sort: parseSort(sort, columns),
  limit,
  cursor,
});

/** Whether any of these filters is given. */
export const hasFilters = (filter: object): boolean => Object.values(filter).some((value) => value !== undefined);

/**
 * A page, with how many there are in all where no filter narrows the list. A view of an older version, which goes on serving while a new one
 * is built, may keep no such count: then the page goes without.
 */
export const withTotalCount = async (
  filter: object,
  page: Promise<Page>,
  count: () => Promise<number>,
): Promise<Page & { total: number | undefined }> => {
  const [shown, total] = await Promise.all([page, hasFilters(filter) ? undefined : count().catch(ignoreUnavailable)]);
  return { ...shown, total };
};

const compareKeys = ([one, oneId]: CursorKey, [other, otherId]: CursorKey): number => {
  if (one === other) return oneId === otherId ? 0 : oneId < otherId ? -1 : 1;
  return one! < other! ? -1 : 1;
};

type ListItem = { readonly id: string; readonly created_at: string };

const keyOf = ({ id, created_at }: ListItem): CursorKey => [created_at, id];

/**
 * A page of a list that is at hand whole, newest first, or as `sort` says; its cursor names the place of the last item, which may be gone by
 * then. @throws Refusal invalid
 */
export const paginate = <T extends ListItem>(
  items: readonly T[],
  { limit, cursor, sort }: PageWindow,
): { items: T[]; next: string | null } => {
  const { descending } = parseSort(sort, DEFAULT_SORTS);
  const place = readPlace(cursor, 'timestamptz');
  const compare = descending ? (a: CursorKey, b: CursorKey) => compareKeys(b, a) : compareKeys;
  const behind = place ? items.filter((item) => compare(keyOf(item), place) > 0) : items;
  const page = behind.toSorted((a, b) => compare(keyOf(a), keyOf(b))).slice(0, limit);
  return { items: page, next: behind.length > limit ? writeCursor(keyOf(page.at(-1)!)) : null };
};
