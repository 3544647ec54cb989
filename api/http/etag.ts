const ETAG_LIST = /^(?:(?:W\/)?"[^"]*"\s*)?(?:,\s*(?:(?:W\/)?"[^"]*"\s*)?)*$/;

/**
 * Returns the ETag of a resource: the revision of its stream, or -1 for settings that were never changed. In a read,
 * the revision comes from the column `revision`, which the projection updates with every event of the stream; in a
 * mutation, it comes from the loaded state.
 */
export const etagOf = (revision: number): string => `"${revision}"`;

/**
 * Returns the ETags in the value of a header. It is a list as in RFC 9110, 5.6.1 and 8.8.3. If it is malformed, the
 * result is empty.
 */
const etagsIn = (header: string): readonly string[] => (ETAG_LIST.test(header) ? (header.match(/(?:W\/)?"[^"]*"/g) ?? []) : []);

/**
 * Returns the revisions in a list of ETags. Weak ETags are ignored, because If-Match needs strong ones (RFC 9110,
 * 13.1.1). ETags that this platform did not create are ignored, too.
 */
export const revisionsIn = (header: string): readonly number[] =>
  etagsIn(header).flatMap((tag) => (/^"(?:-1|0|[1-9]\d{0,14})"$/.test(tag) ? [Number(tag.slice(1, -1))] : []));

/**
 * Returns whether an If-None-Match header matches this ETag: it is `*`, or contains the ETag by weak comparison (RFC
 * 9110, 13.1.2).
 */
export const matchesIfNoneMatch = (header: string | undefined, etag: string | undefined): boolean =>
  header !== undefined &&
  etag !== undefined &&
  (header.trim() === '*' || etagsIn(header.trim()).some((tag) => tag.replace(/^W\//, '') === etag));
