import { createHmac, timingSafeEqual } from 'node:crypto';
import { chunksOf, type ReceivedBody } from './delivery-body.ts';

/**
 * A request as received. `header` returns a header by its lower-case name; the values of a repeated header are joined
 * with `, `.
 */
export type SignedRequest = { readonly header: (name: string) => string | undefined; readonly body: ReceivedBody };

/** The secrets of one integration, as bytes. `previous` is null if no previous secret is valid. */
export type SigningKeys = { readonly current: Uint8Array; readonly previous: Uint8Array | null };

export type SignatureFault = 'signature_missing' | 'signature_malformed' | 'signature_mismatch';
export type MatchedSecret = 'current' | 'previous';

export type Verification =
  | { readonly ok: true; readonly matched: MatchedSecret; readonly reason: null }
  | { readonly ok: false; readonly matched: null; readonly reason: SignatureFault };

/**
 * How a provider signs its deliveries with HMAC. `shape` is the pattern of the signature header. Its first group
 * matches the encoded digest.
 */
export type SignatureScheme = {
  readonly header: string;
  readonly shape: RegExp;
  readonly encoding: 'hex' | 'base64';
  readonly algorithm: 'sha256' | 'sha1';
  readonly key: (secret: string) => Uint8Array;
  /**
   * Returns the bytes that the provider signs, in parts. If they include a header, and it is missing or malformed,
   * returns null.
   */
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
    message: ({ body }) => chunksOf(body),
  },
} as const satisfies Record<string, SignatureScheme>;

export type SignedProvider = keyof typeof signatureSchemes;

const MAX_HEADER_LENGTH = 4096;
const DIGEST_BYTES = { sha256: 32, sha1: 20 } as const;
/**
 * Used in place of the secrets of an unknown integration, so that the check takes the same time. The result is a
 * mismatch in any case.
 */
const placeholderKeys: SigningKeys = { current: new Uint8Array(32), previous: null };

/** The input of a signature check. It contains only plain values, so that it can be sent to another thread. */
export type SignatureClaim = {
  readonly algorithm: SignatureScheme['algorithm'];
  readonly message: readonly Uint8Array[];
  readonly digest: Uint8Array;
  readonly keys: SigningKeys;
};

/**
 * Verifies the signature of a request against the current and the previous secret, in constant time. `keys` is null for
 * an unknown integration.
 */
export const verifySignature = (scheme: SignatureScheme, request: SignedRequest, keys: SigningKeys | null): Verification => {
  const claim = signatureClaim(scheme, request, keys);
  return typeof claim === 'string' ? rejectedVerification(claim) : verificationOf(keys, matchSecret(claim));
};

/** Returns the input of the signature check, or why the request cannot be checked. */
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

/**
 * Converts the result of `matchSecret` to a verification. If `keys` is null (an unknown integration), the result is
 * always a mismatch.
 */
export const verificationOf = (keys: SigningKeys | null, matched: MatchedSecret | null): Verification =>
  keys && matched ? { ok: true, matched, reason: null } : rejectedVerification('signature_mismatch');

/**
 * Returns the secret with which the digest was made; null if neither matches. Both secrets are always tried, so that
 * the response time does not reveal which one matched.
 */
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

// Checks the form of the header before decoding the digest, because Buffer.from silently ignores characters that it
// cannot decode.
const parseDigest = ({ shape, encoding, algorithm }: SignatureScheme, header: string): Uint8Array | null => {
  const text = header.length <= MAX_HEADER_LENGTH ? shape.exec(header)?.[1] : undefined;
  const digest = text === undefined ? null : Buffer.from(text, encoding);
  return digest?.length === DIGEST_BYTES[algorithm] ? digest : null;
};

export const rejectedVerification = (reason: SignatureFault): Verification => ({ ok: false, matched: null, reason });
