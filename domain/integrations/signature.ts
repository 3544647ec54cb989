import { createHmac, createPublicKey, hash, timingSafeEqual, verify } from 'node:crypto';
import {
  firstHeader,
  type SignatureAlgorithm,
  type SignatureScheme,
  type SignedRequest,
  type SignedTimestamp,
} from './conventions/signature-scheme.ts';

/** HMAC secrets, tokens or public keys. `previous` is null if no previous secret is valid any more. */
export type SigningKeys = { readonly current: Uint8Array; readonly previous: Uint8Array | null };

export type SignatureFault = 'signature_missing' | 'signature_malformed' | 'signature_mismatch' | 'timestamp_out_of_range';
export type MatchedSecret = 'current' | 'previous';

export type Verification =
  | { readonly ok: true; readonly matched: MatchedSecret; readonly reason: null }
  | { readonly ok: false; readonly matched: null; readonly reason: SignatureFault };

export const MAX_HEADER_LENGTH = 4096;
export const MAX_SIGNATURES = 10;
export const SIGNATURE_BYTES = { sha256: 32, sha1: 20, sha512: 64, ed25519: 64 } as const;
/** Precedes the 32 bytes of an Ed25519 public key in the SPKI format. */
const ED25519_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
/** For an unknown integration, so that its check takes the same time; it never matches, whatever the result. */
const placeholderKeys: SigningKeys = { current: new Uint8Array(32), previous: null };

/** Plain values, which can be sent to another thread. */
export type SignatureClaim = {
  readonly algorithm: SignatureAlgorithm;
  /** The signature is valid if it is that of one of these messages. A message is a list of parts, which are hashed in order. */
  readonly messages: readonly (readonly Uint8Array[])[];
  readonly signatures: readonly Uint8Array[];
  readonly keys: SigningKeys;
};

/** Tries the current and the previous secret, in constant time. `keys` is null for an unknown integration. `isFresh` checks the age. */
export const verifySignature = (scheme: SignatureScheme, request: SignedRequest, keys: SigningKeys | null): Verification => {
  const claim = signatureClaim(scheme, request, keys);
  return typeof claim === 'string' ? rejectedVerification(claim) : verificationOf(keys, matchSecret(claim));
};

/** Returns the reason if the request cannot be checked. */
export const signatureClaim = (
  scheme: SignatureScheme,
  request: SignedRequest,
  keys: SigningKeys | null,
): SignatureClaim | SignatureFault => {
  const header = firstHeader(request, scheme.headers);
  if (!header) return scheme.otherwise ? signatureClaim(scheme.otherwise, request, keys) : 'signature_missing';
  const signatures = parseSignatures(scheme, header);
  const timestamp = scheme.timestamp ? timestampOf(scheme.timestamp, request) : '';
  const message = timestamp === null ? null : scheme.message(request, timestamp);
  if (signatures.length === 0 || !message) return 'signature_malformed';
  return {
    algorithm: scheme.algorithm,
    messages: scheme.alternatives ? [message, ...scheme.alternatives(request, message)] : [message],
    signatures,
    keys: keys ?? placeholderKeys,
  };
};

/** Always a mismatch if `keys` is null (for an unknown integration). */
export const verificationOf = (keys: SigningKeys | null, matched: MatchedSecret | null): Verification =>
  keys && matched ? { ok: true, matched, reason: null } : rejectedVerification('signature_mismatch');

/** Null if neither matches. Always tries both secrets, so that the response time does not reveal which one matched. */
export const matchSecret = ({ keys, ...claim }: SignatureClaim): MatchedSecret | null => {
  const current = isSignedWith(claim, keys.current);
  const previous = keys.previous !== null && isSignedWith(claim, keys.previous);
  if (current) return 'current';
  return previous ? 'previous' : null;
};

/** Whether the signed time differs from `at` (RFC 3339) by at most the tolerance. True if the scheme has no timestamp. */
export const isFresh = ({ timestamp }: SignatureScheme, request: SignedRequest, at: string): boolean =>
  !timestamp || isWithin(Number(timestampOf(timestamp, request)) * 1000, at, timestamp.toleranceSeconds);

/** Whether a time is within the tolerance, before or after `at` (RFC 3339). */
export const isWithin = (ms: number, at: string, toleranceSeconds: number): boolean =>
  Math.abs(Date.parse(at) - ms) <= toleranceSeconds * 1000;

/** Null if it is missing or malformed. */
export const timestampOf = ({ headers, shape }: SignedTimestamp, request: SignedRequest): string | null =>
  shape.exec(firstHeader(request, headers)?.slice(0, MAX_HEADER_LENGTH) ?? '')?.[1] ?? null;

const isSignedWith = ({ algorithm, messages, signatures }: Omit<SignatureClaim, 'keys'>, key: Uint8Array): boolean => {
  if (key.length === 0) return false;
  let isMatch = false;
  for (const message of messages) {
    const isSignature = signatureCheck(algorithm, message, key);
    for (const signature of signatures) if (isSignature(signature)) isMatch = true;
  }
  return isMatch;
};

const signatureCheck = (
  algorithm: SignatureAlgorithm,
  message: readonly Uint8Array[],
  key: Uint8Array,
): ((signature: Uint8Array) => boolean) => {
  if (algorithm === 'ed25519') {
    const publicKey = createPublicKey({ key: Buffer.concat([ED25519_PREFIX, key]), format: 'der', type: 'spki' });
    const bytes = Buffer.concat(message);
    return (signature) => verify(null, bytes, publicKey, signature);
  }
  if (algorithm === 'token') return (token) => timingSafeEqual(digestOf(token), digestOf(key));
  const expected = hmacOf(algorithm, message, key);
  return (signature) => timingSafeEqual(signature, expected);
};

/** Digests all have the same length, so they can be compared in constant time. */
const digestOf = (token: Uint8Array): Uint8Array => hash('sha256', token, 'buffer');

const hmacOf = (algorithm: 'sha256' | 'sha1' | 'sha512', message: readonly Uint8Array[], key: Uint8Array): Uint8Array => {
  const hmac = createHmac(algorithm, key);
  for (const part of message) hmac.update(part);
  return hmac.digest();
};

/** Returns the signatures in a header, still encoded; leaves out what does not have the form of a signature. */
export const signatureTexts = ({ separator, shape }: SignatureScheme, header: string): string[] =>
  (separator === undefined ? [header] : header.split(separator).map((item) => item.trim()))
    .map((item) => shape.exec(item)?.[1])
    .filter((text) => text !== undefined);

/** Returns no signature if one cannot be decoded, or if there are too many. */
export const parseSignatures = (scheme: SignatureScheme, header: string): Uint8Array[] => {
  if (header.length > MAX_HEADER_LENGTH) return [];
  const texts = signatureTexts(scheme, header);
  if (texts.length > MAX_SIGNATURES) return [];
  const signatures = texts.map((text) => decodeSignature(scheme, text));
  return signatures.every((signature) => signature !== null) ? signatures : [];
};

// Buffer.from ignores characters and bits that it cannot decode, without an error. `shape` excludes such characters,
// but not an odd number of hexadecimal digits. Encoding the bytes again shows whether the base64 text had unused bits
// that are not 0.
const decodeSignature = ({ encoding, algorithm }: SignatureScheme, text: string): Uint8Array | null => {
  const signature = Buffer.from(text, encoding);
  if (algorithm === 'token') return signature;
  const isComplete = encoding === 'base64' ? signature.toString('base64') === text : text.length === signature.length * 2;
  const isExact = signature.length === SIGNATURE_BYTES[algorithm] && isComplete;
  return isExact ? signature : null;
};

export const rejectedVerification = (reason: SignatureFault): Verification => ({ ok: false, matched: null, reason });
