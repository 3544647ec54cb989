import { z } from 'zod';
import { Instant, integer } from '../../domain/fields.ts';
import { invalid } from '../../domain/refusal.ts';
import { type CursorKey, readCursorKey, writeCursor } from '../../projections/cursor.ts';
import type { Page } from '../../projections/read-model.ts';
import { ignoreUnavailable } from './stale-if-error.ts';

/**
 * Converts a text of decimal digits to a number. Returns any other value unchanged, which zod then refuses. `Number`
 * alone would also accept `0x10`, `1e2`, ` 10` and the empty string.
 */
const parseDecimal = (text: unknown): unknown => (typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : text);

/** Returns a schema for a query parameter that is a number in decimal digits. */
export const Decimal = <T extends z.ZodType>(schema: T) => z.preprocess(parseDecimal, schema);

/** A schema for a log position in the form of a consistency token. */
export const PositionToken = z.string().regex(/^\d{1,19}:\d{1,19}$/, 'must be a position of the log, such as 48211:48211');

const DEFAULT_SORTS = ['created_at'] as const;

/**
 * The maximum length of a cursor in characters. A cursor contains the sort value of an item, such as a name of 255
 * characters. In JSON, a character needs up to six bytes, which makes about 2,100 characters in base64.
 */
const MAX_CURSOR_LENGTH = 4_000;

/**
 * Returns the schema for the query of a list: `limit` (1 to 200, default 50), `cursor` (from the Link header of the
 * previous page), `sort`, and the filters in `shape`.
 */
export const listQuery = <Shape extends z.ZodRawShape>(shape: Shape, columns: readonly string[] = DEFAULT_SORTS) =>
  z.strictObject({
    limit: Decimal(integer(1, 200).default(50)).meta({ description: 'How many items the page may have' }),
    cursor: z
      .string()
      .max(MAX_CURSOR_LENGTH)
      .optional()
      .meta({ description: 'Where the page starts; take it from the `Link` header of the previous page' }),
    // Any text is accepted here. `parseSort` refuses an unknown column with a message that lists the valid ones.
    sort: z
      .string()
      .max(64)
      .meta({
        enum: columns.flatMap((column) => [column, `-${column}`]),
        description: 'The field to sort by; `-` before it sorts in descending order. Default: newest first',
      })
      .optional(),
    ...shape,
  });

/** A schema for the query parameter `as_of`: an RFC 3339 time or a Consistency-Token. */
export const AsOf = z.string().max(64).optional().meta({ description: 'Reads the state at this RFC 3339 time or Consistency-Token' });

/** A schema for the query of a read whose only parameter is `as_of`. */
export const asOfQuery = z.strictObject({ as_of: AsOf });

/** The query parameters of a time range, which includes its start and excludes its end. */
export const TimeRange = {
  from: Instant.optional().meta({ description: 'Only items at or after this time' }),
  to: Instant.optional().meta({ description: 'Only items before this time' }),
};

/** A schema for a query parameter that is `true` or `false`. */
export const Flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/**
 * Parses the query parameter `sort`, a column name. The prefix `-` means descending order. The default order is newest
 * first.
 * @throws Refusal invalid
 */
export const parseSort = (sort: string | undefined, columns: readonly string[]): { column: string; descending: boolean } => {
  if (sort === undefined) return { column: 'created_at', descending: true };
  const column = sort.replace(/^-/, '');
  if (!columns.includes(column)) throw invalid('/query/sort', `can be sorted by ${columns.join(', ')}`, 'unknown_field');
  return { column, descending: sort.startsWith('-') };
};

/** The query parameters that select a page of a list. */
export type PageWindow = { readonly limit: number; readonly cursor?: string | undefined; readonly sort?: string | undefined };

/** Parses the query parameters that select a page. @throws Refusal invalid */
export const windowOf = ({ limit, cursor, sort }: PageWindow, columns: readonly string[] = DEFAULT_SORTS) => ({
  sort: parseSort(sort, columns),
  limit,
  cursor,
});

/** Returns whether at least one of these filters is set. */
export const hasFilters = (filter: object): boolean => Object.values(filter).some((value) => value !== undefined);

/**
 * Adds the total count of a list to its page, if no filter is set. The count is missing while the read model is
 * unavailable, or while its tables were built by an older version that had no counts.
 */
export const withTotalCount = async (
  filter: object,
  page: Promise<Page>,
  count: () => Promise<number>,
): Promise<Page & { total: number | undefined }> => {
  const [found, total] = await Promise.all([page, hasFilters(filter) ? undefined : count().catch(ignoreUnavailable)]);
  return { ...found, total };
};

const compareKeys = ([one, oneId]: CursorKey, [other, otherId]: CursorKey): number => {
  if (one === other) return oneId === otherId ? 0 : oneId < otherId ? -1 : 1;
  return one! < other! ? -1 : 1;
};

type ListItem = { readonly id: string; readonly created_at: string };

const keyOf = ({ id, created_at }: ListItem): CursorKey => [created_at, id];

/**
 * Returns one page of a list in memory, newest first or ordered by `sort`. The cursor contains the sort value and the
 * id of the page's last item. So the next page is correct even if this item is deleted in the meantime.
 * @throws Refusal invalid
 */
export const paginate = <T extends ListItem>(
  items: readonly T[],
  { limit, cursor, sort }: PageWindow,
): { items: T[]; next: string | null } => {
  const order = parseSort(sort, DEFAULT_SORTS);
  const after = readCursorKey(cursor, 'timestamptz', order);
  const compare = order.descending ? (a: CursorKey, b: CursorKey) => compareKeys(b, a) : compareKeys;
  const remaining = after ? items.filter((item) => compare(keyOf(item), after) > 0) : items;
  const page = remaining.toSorted((a, b) => compare(keyOf(a), keyOf(b))).slice(0, limit);
  return { items: page, next: remaining.length > limit ? writeCursor(keyOf(page.at(-1)!), order) : null };
};
