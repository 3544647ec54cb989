import type { ReceivedBody } from './received-body.ts';

/**
 * A request as received. `header` returns the value of a header by its lower-case name; several values are joined with
 * `, `. `url` returns the public URL to which the request was sent, including its query.
 */
export type SignedRequest = {
  readonly header: (name: string) => string | undefined;
  readonly url: () => string;
  readonly body: ReceivedBody;
};

/** `token` means that the header contains the secret itself. */
export type SignatureAlgorithm = 'sha256' | 'sha1' | 'sha512' | 'ed25519' | 'token';

/** How a request contains its time of signing. The first group of `shape` matches the Unix time in seconds. */
export type SignedTimestamp = { readonly headers: readonly string[]; readonly shape: RegExp; readonly toleranceSeconds: number };

export type SignatureScheme = {
  /**
   * The lower-case names of the headers that can contain the signature. If a request has several of them, the first
   * name in this list counts.
   */
  readonly headers: readonly string[];
  /**
   * The separator between signatures, if the header can contain several; signatures that do not match `shape` are then
   * ignored. Absent if the header contains one signature.
   */
  readonly separator?: string;
  /** The pattern of one signature. Its first group matches the encoded signature. */
  readonly shape: RegExp;
  /** The text before the encoded signature; an empty text if absent. It is needed only to sign. */
  readonly prefix?: string;
  readonly encoding: 'hex' | 'base64' | 'utf8';
  readonly algorithm: SignatureAlgorithm;
  readonly key: (secret: string) => Uint8Array;
  readonly timestamp?: SignedTimestamp;
  /**
   * The bytes of `message` as a text with `{body}`, `{id}`, `{timestamp}` or `{url}`, from which shell commands are made.
   * Empty if nothing is signed.
   */
  readonly template: string;
  /**
   * Returns the signed bytes as a list of parts; null if a part of the request is missing or malformed. `timestamp` is
   * the text of the signed timestamp, or an empty text if the scheme has none.
   */
  readonly message: (request: SignedRequest, timestamp: string) => readonly Uint8Array[] | null;
  /** The scheme of requests that have none of `headers`, for the same keys. */
  readonly otherwise?: SignatureScheme;
  /** Returns other bytes that the provider may have signed instead of those that `message` has returned, which it gets. */
  readonly alternatives?: (request: SignedRequest, message: readonly Uint8Array[]) => readonly (readonly Uint8Array[])[];
};

/** Returns the value of the first of these headers that the request has and that is not empty. */
export const firstHeader = ({ header }: Pick<SignedRequest, 'header'>, names: readonly string[]): string | undefined => {
  for (const name of names) {
    const value = header(name);
    if (value) return value;
  }
  return undefined;
};
