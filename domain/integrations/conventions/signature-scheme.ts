import type { ReceivedBody } from '../../bodies/received-body.ts';

/** A request as received. `header` takes a lower-case name and joins several values with `, `. `url` is the public URL with its query. */
export type SignedRequest = {
  readonly header: (name: string) => string | undefined;
  readonly url: () => string;
  readonly body: ReceivedBody;
};

/** `token`: the header contains the secret itself. */
export type SignatureAlgorithm = 'sha256' | 'sha1' | 'sha512' | 'ed25519' | 'token';

/** The first group of `shape` matches the Unix time in seconds. */
export type SignedTimestamp = { readonly headers: readonly string[]; readonly shape: RegExp; readonly toleranceSeconds: number };

export type SignatureScheme = {
  /** Lower-case names, the preferred one first. The first header that the request has is used. */
  readonly headers: readonly string[];
  /** If the header can contain several signatures; those that do not match `shape` are ignored. Absent: one signature. */
  readonly separator?: string;
  /** The pattern of one signature; its first group matches the encoded signature. */
  readonly shape: RegExp;
  /** The text before the encoded signature; needed only to sign. */
  readonly prefix?: string;
  readonly encoding: 'hex' | 'base64' | 'utf8';
  readonly algorithm: SignatureAlgorithm;
  readonly key: (secret: string) => Uint8Array;
  readonly timestamp?: SignedTimestamp;
  /** `message` as a text with `{body}`, `{id}`, `{timestamp}` or `{url}`, for shell commands. Empty if nothing is signed. */
  readonly template: string;
  /** The signed bytes; null if a part of the request is missing or malformed. `timestamp`: as signed, or empty if the scheme has none. */
  readonly message: (request: SignedRequest, timestamp: string) => readonly Uint8Array[] | null;
  /** The scheme for requests without any of `headers`; it uses the same keys. */
  readonly otherwise?: SignatureScheme;
  /** Other bytes that the provider may have signed instead of `message`. */
  readonly alternatives?: (request: SignedRequest, message: readonly Uint8Array[]) => readonly (readonly Uint8Array[])[];
};

/** The first header that is present and not empty. */
export const firstHeader = ({ header }: Pick<SignedRequest, 'header'>, names: readonly string[]): string | undefined => {
  for (const name of names) {
    const value = header(name);
    if (value) return value;
  }
  return undefined;
};
