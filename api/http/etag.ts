const ETAG_LIST = /^(?:(?:W\/)?"[^"]*"\s*)?(?:,\s*(?:(?:W\/)?"[^"]*"\s*)?)*$/;

/**
 * The ETag of a resource: the revision of its stream. For a read it comes from the column `revision`, which the
 * projection updates with every event of the stream. For a mutation it comes from the folded state.
 */
export const etagOf = (revision: number): string => `"${revision}"`;

/**
 * The ETags in a header (a list as in RFC 9110, 5.6.1 and 8.8.3), with their quotes. The prefix `W/` is removed: the
 * ETag of a compressed response has it, because compression makes ETags weak. The result is empty if the header is
 * malformed.
 */
export const etagsIn = (header: string): readonly string[] => (ETAG_LIST.test(header) ? (header.match(/"[^"]*"/g) ?? []) : []);

/** The revisions in a list of ETags. ETags in other formats than ours are ignored. */
export const revisionsIn = (header: string): readonly number[] =>
  etagsIn(header).flatMap((tag) => (/^"(?:0|[1-9]\d{0,14})"$/.test(tag) ? [Number(tag.slice(1, -1))] : []));

/**
 * Whether an If-None-Match header matches this ETag: it is `*`, or contains the ETag by weak comparison (RFC 9110,
 * 13.1.2).
 */
export const matchesIfNoneMatch = (header: string | undefined, etag: string | undefined): boolean =>
  header !== undefined && etag !== undefined && (header.trim() === '*' || etagsIn(header.trim()).includes(etag));
