/**
 * Where the delivery id or the event name is: the first of `headers` that is present or, without one, the first of the body fields
 * `pointers` that exists; with `orDigest`, otherwise the SHA-256 of the body. Several deliveries can have the same value of `shared`,
 * which is one of `headers`: the SHA-256 of the body then belongs to the id.
 */
export type ValueSource = {
  readonly headers: readonly string[];
  readonly pointers: readonly string[];
  readonly orDigest?: true;
  readonly shared?: string;
};

export const header = (...headers: string[]): ValueSource => ({ headers, pointers: [] });
export const field = (...pointers: string[]): ValueSource => ({ headers: [], pointers });
/** The digest of the body if it has none of these fields. */
export const idField = (...pointers: string[]): ValueSource => ({ headers: [], pointers, orDigest: true });
