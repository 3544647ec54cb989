const ETAG_LIST = /^(?:(?:W\/)?"[^"]*"\s*)?(?:,\s*(?:(?:W\/)?"[^"]*"\s*)?)*$/;

/**
 * The ETag of a resource: the revision of its stream. A read takes it from the row's column `revision` (which the
 * projection moves with every event of the stream), a mutation from the folded state.
 */
export const etagOf = (revision: number): string => `"${revision}"`;

/**
 * The ETags of a header (a list by RFC 9110 5.6.1 and 8.8.3), quoted. The prefix `W/` is removed, because compression
 * makes ETags weak. Empty if the header is malformed.
 */
export const etagsIn = (header: string): readonly string[] => (ETAG_LIST.test(header) ? (header.match(/"[^"]*"/g) ?? []) : []);

/** The revisions in a list of ETags; it ignores ETags of other formats. */
export const revisionsIn = (header: string): readonly number[] =>
  etagsIn(header).flatMap((tag) => (/^"(?:0|[1-9]\d{0,14})"$/.test(tag) ? [Number(tag.slice(1, -1))] : []));

/** Whether an If-None-Match header matches this ETag: by `*` or in a list, by weak comparison (RFC 9110 13.1.2). */
export const matchesIfNoneMatch = (header: string | undefined, etag: string | undefined): boolean =>
  header !== undefined && etag !== undefined && (header.trim() === '*' || etagsIn(header.trim()).includes(etag));
