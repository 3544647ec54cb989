import { createHmac, timingSafeEqual } from 'node:crypto';

/** The request as received. `header` finds a header by its lower-case name; repeated ones are joined with `, `. */
export type SignedRequest = { readonly header: (name: string) => string | undefined; readonly body: Uint8Array };

/** The decoded secrets of one integration. `previous` is null unless it is still valid. */
export type SigningKeys = { readonly current: Uint8Array; readonly previous: Uint8Array | null };

export type SignatureFault = 'signature_missing' | 'signature_malformed' | 'signature_mismatch';
export type MatchedSecret = 'current' | 'previous';

export type Verification =
  | { readonly ok: true; readonly matched: MatchedSecret; readonly reason: null }
  | { readonly ok: false; readonly matched: null; readonly reason: SignatureFault };

/** Everything that differs between the providers' HMAC schemes. The first group of `shape` is the encoded digest. */
export type SignatureScheme = {
  readonly header: string;
  readonly shape: RegExp;
  readonly encoding: 'hex' | 'base64';
  readonly algorithm: 'sha256' | 'sha1';
  readonly key: (secret: string) => Uint8Array;
  /** The signed bytes, in parts; null if a header that is part of them is missing or malformed. */
  readonly message: (request: SignedRequest) => readonly Uint8Array[] | null;
};

const utf8Key = (secret: string): Uint8Array => Buffer.from(secret);

export const signatureSchemes = {
  /** https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries */
  github: {
    header: 'x-hub-signature-256',
    shape: /^sha256=([0-9a-f]{64})$/,
    encoding: 'hex',
    algorithm: 'sha256',
    key: utf8Key,
    message: ({ body }) => [body],
  },
} as const satisfies Record<string, SignatureScheme>;

export type SignedProvider = keyof typeof signatureSchemes;

const MAX_HEADER_LENGTH = 4096;
const DIGEST_BYTES = { sha256: 32, sha1: 20 } as const;
/** Stands in for the keys of an unknown integration, so that it takes equal time. Its signatures are rejected too. */
const placeholderKeys: SigningKeys = { current: new Uint8Array(32), previous: null };

/** The digest, message and keys that a signature check needs: plain values that can be sent to another thread. */
export type SignatureClaim = {
  readonly algorithm: SignatureScheme['algorithm'];
  readonly message: readonly Uint8Array[];
  readonly digest: Uint8Array;
  readonly keys: SigningKeys;
};

/** Verifies the received bytes against both secrets, in constant time. `keys` is null for an unknown integration. */
export const verifySignature = (scheme: SignatureScheme, request: SignedRequest, keys: SigningKeys | null): Verification => {
  const claim = signatureClaim(scheme, request, keys);
  return typeof claim === 'string' ? rejectedVerification(claim) : verificationOf(keys, matchSecret(claim));
};

/** Extracts the claim to verify, or says why there is none. */
export const signatureClaim = (
  scheme: SignatureScheme,
  request: SignedRequest,
  keys: SigningKeys | null,
): SignatureClaim | SignatureFault => {
  const header = request.header(scheme.header);
  if (!header) return 'signature_missing';
  const digest = parseDigest(scheme, header);
  const message = scheme.message(request);
  if (!digest || !message) return 'signature_malformed';
  return { algorithm: scheme.algorithm, message, digest, keys: keys ?? placeholderKeys };
};

/** The result of a checked claim. Nothing matches for an unknown integration (`keys` null). */
export const verificationOf = (keys: SigningKeys | null, matched: MatchedSecret | null): Verification =>
  keys && matched ? { ok: true, matched, reason: null } : rejectedVerification('signature_mismatch');

/** Finds the secret that matches the digest. Always tries both: the time must not reveal which one matched. */
export const matchSecret = ({ algorithm, message, digest, keys }: SignatureClaim): MatchedSecret | null => {
  const current = isSignedWith(algorithm, message, digest, keys.current);
  const previous = keys.previous !== null && isSignedWith(algorithm, message, digest, keys.previous);
  if (current) return 'current';
  return previous ? 'previous' : null;
};

const isSignedWith = (
  algorithm: SignatureClaim['algorithm'],
  message: readonly Uint8Array[],
  digest: Uint8Array,
  key: Uint8Array,
): boolean => {
  const hmac = createHmac(algorithm, key);
  for (const part of message) hmac.update(part);
  return timingSafeEqual(hmac.digest(), digest) && key.length > 0;
};

// The shape is checked first because Buffer.from silently drops characters that it cannot decode.
const parseDigest = ({ shape, encoding, algorithm }: SignatureScheme, header: string): Uint8Array | null => {
  const text = header.length <= MAX_HEADER_LENGTH ? shape.exec(header)?.[1] : undefined;
  const digest = text === undefined ? null : Buffer.from(text, encoding);
  return digest?.length === DIGEST_BYTES[algorithm] ? digest : null;
};

export const rejectedVerification = (reason: SignatureFault): Verification => ({ ok: false, matched: null, reason });
