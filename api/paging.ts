import { z } from 'zod';
import { invalid } from '../domain/refusal.ts';

/** `limit` (1 to 200, 50) and `cursor` (from the Link header of the page before), beside an operation's own filters. */
export const listQuery = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject({
    limit: z.coerce.number().int().min(1).max(200).default(50),
    cursor: z.string().max(1000).optional(),
    sort: z.string().max(64).optional(),
    ...shape,
  });

/** `as_of`: an RFC 3339 time or a Consistency-Token. */
export const AsOf = z.string().max(64).optional();

/** The query of a read that can look at another time. */
export const asOfQuery = z.strictObject({ as_of: AsOf });

/** A query parameter that is `true` or `false`. */
export const Flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** Reads `sort`: a field of the item, `-` before it for descending; newest first where it is absent. @throws Refusal invalid */
export const sorted = (sort: string | undefined, columns: readonly string[]): { column: string; descending: boolean } => {
  if (sort === undefined) return { column: 'created_at', descending: true };
  const column = sort.replace(/^-/, '');
  if (!columns.includes(column)) throw invalid('/query/sort', `can be sorted by ${columns.join(', ')}`, 'unknown_field');
  return { column, descending: sort.startsWith('-') };
};

/** The window of a list: sort, limit and cursor. */
export const windowOf = (
  { limit, cursor, sort }: { limit: number; cursor?: string | undefined; sort?: string | undefined },
  columns: readonly string[] = ['created_at'],
) => ({
  sort: sorted(sort, columns),
  limit,
  cursor,
});

type Dated = { readonly id: string; readonly created_at: string };

const order = (a: Dated, b: Dated): number =>
  a.created_at === b.created_at ? (a.id < b.id ? -1 : 1) : a.created_at < b.created_at ? -1 : 1;

type Window = { readonly limit: number; readonly cursor?: string | undefined };

/** A page of a list that is at hand whole and in order; its cursor names the last item. @throws Refusal invalid */
export const pageOf = <T>(
  items: readonly T[],
  idOf: (item: T) => string,
  { limit, cursor }: Window,
): { items: T[]; next: string | null } => {
  const after = cursor === undefined ? 0 : items.findIndex((item) => idOf(item) === cursor) + 1;
  if (cursor !== undefined && after === 0) throw invalid('/query/cursor', 'is not a cursor of this list', 'bad_cursor');
  const page = items.slice(after, after + limit);
  return { items: page, next: after + limit < items.length ? idOf(page.at(-1)!) : null };
};

/** The same of what has an age: newest first, or as `sort` says. */
export const sliced = <T extends Dated>(items: readonly T[], window: Window & { readonly sort?: string | undefined }) => {
  const { descending } = sorted(window.sort, ['created_at']);
  return pageOf(
    items.toSorted((a, b) => (descending ? order(b, a) : order(a, b))),
    ({ id }) => id,
    window,
  );
};
