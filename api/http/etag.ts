const ETAG_LIST = /^(?:(?:W\/)?"[^"]*"\s*)?(?:,\s*(?:(?:W\/)?"[^"]*"\s*)?)*$/;

/** The ETag of a stream's revision. */
export const etagOf = (revision: number): string => `"${revision}"`;

/** The tags of a list (RFC 9110 5.6.1, 8.8.3) in their quotes, without what makes one weak: so compression leaves them. None of what is no list. */
export const etagsIn = (header: string): readonly string[] => (ETAG_LIST.test(header) ? (header.match(/"[^"]*"/g) ?? []) : []);

/** The revisions that a list of tags names; what is no tag of ours names none. */
export const revisionsIn = (header: string): readonly number[] =>
  etagsIn(header).flatMap((tag) => (/^"(?:0|[1-9]\d{0,14})"$/.test(tag) ? [Number(tag.slice(1, -1))] : []));

/** Whether an If-None-Match names this tag: in a list or by `*`, compared weakly (RFC 9110 13.1.2). */
export const matchesIfNoneMatch = (header: string | undefined, etag: string | undefined): boolean =>
  header !== undefined && etag !== undefined && (header.trim() === '*' || etagsIn(header.trim()).includes(etag));
