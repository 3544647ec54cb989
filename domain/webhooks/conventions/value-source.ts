/**
 * Where a request contains its delivery id or its event name: in the first of `headers` that is present or, if none is,
 * in the first of the body fields `pointers` that exists. `orDigest` is whether the SHA-256 of the body is the id if
 * there is no such field, either. `shared` is the last of `headers`: several deliveries can have the same value, so the
 * SHA-256 of the body belongs to the id, too.
 */
export type ValueSource = {
  readonly headers: readonly string[];
  readonly pointers: readonly string[];
  readonly orDigest?: true;
  readonly shared?: string;
};

export const header = (...headers: string[]): ValueSource => ({ headers, pointers: [] });
export const field = (...pointers: string[]): ValueSource => ({ headers: [], pointers });
/**
 * Returns the source for a delivery id in the body. If the body has none of these fields, the digest of the body is the
 * id.
 */
export const idField = (...pointers: string[]): ValueSource => ({ headers: [], pointers, orDigest: true });
