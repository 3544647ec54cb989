import { createHmac, timingSafeEqual } from 'node:crypto';

/** What a signature is made over, as it arrived. `header` gives the value of a header by its lower-case name; doubled ones joined. */
export type SignedRequest = { readonly header: (name: string) => string | undefined; readonly body: Uint8Array };

/** The secrets of one integration, decoded; `previous` only while it is still valid. */
export type SigningKeys = { readonly current: Uint8Array; readonly previous: Uint8Array | null };

export type SignatureFault = 'signature_missing' | 'signature_malformed' | 'signature_mismatch';
export type MatchedSecret = 'current' | 'previous';

export type Verification =
  | { readonly ok: true; readonly matched: MatchedSecret; readonly reason: null }
  | { readonly ok: false; readonly matched: null; readonly reason: SignatureFault };

/** How one provider signs: everything that differs between HMAC schemes. The first group of `shape` is the digest in its encoding. */
export type SignatureScheme = {
  readonly header: string;
  readonly shape: RegExp;
  readonly encoding: 'hex' | 'base64';
  readonly algorithm: 'sha256' | 'sha1';
  readonly key: (secret: string) => Uint8Array;
  /** The signed bytes, in the parts of which they consist; null where a header that takes part is missing or malformed. */
  readonly message: (request: SignedRequest) => readonly Uint8Array[] | null;
};

const asText = (secret: string): Uint8Array => Buffer.from(secret);

export const signatureSchemes = {
  /** https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries */
  github: {
    header: 'x-hub-signature-256',
    shape: /^sha256=([0-9a-f]{64})$/,
    encoding: 'hex',
    algorithm: 'sha256',
    key: asText,
    message: ({ body }) => [body],
  },
} as const satisfies Record<string, SignatureScheme>;

export type SignedProvider = keyof typeof signatureSchemes;

const MAX_HEADER_LENGTH = 4096;
const digestBytes = { sha256: 32, sha1: 20 } as const;
/** Does the work for an address that nobody has; what it signs is refused all the same. */
const nobody: SigningKeys = { current: new Uint8Array(32), previous: null };

/** What a request claims: that the digest is the message's under a key of the integration. Plain values, so that it can go to another thread. */
export type Claim = {
  readonly algorithm: SignatureScheme['algorithm'];
  readonly message: readonly Uint8Array[];
  readonly digest: Uint8Array;
  readonly keys: SigningKeys;
};

/** Verifies a request against every secret there is, in constant time, over the bytes as they came; `keys` is null for an unknown address. */
export const verifySignature = (scheme: SignatureScheme, request: SignedRequest, keys: SigningKeys | null): Verification => {
  const claim = signatureClaim(scheme, request, keys);
  return typeof claim === 'string' ? rejectedVerification(claim) : verificationOf(keys, matchSecret(claim));
};

/** What there is to be verified of a request, or what is wrong with it before that. */
export const signatureClaim = (scheme: SignatureScheme, request: SignedRequest, keys: SigningKeys | null): Claim | SignatureFault => {
  const header = request.header(scheme.header);
  if (!header) return 'signature_missing';
  const digest = digestIn(scheme, header);
  const message = scheme.message(request);
  if (!digest || !message) return 'signature_malformed';
  return { algorithm: scheme.algorithm, message, digest, keys: keys ?? nobody };
};

/** The verdict on a claim; an unknown address (`keys` null) has none that matches. */
export const verificationOf = (keys: SigningKeys | null, matched: MatchedSecret | null): Verification =>
  keys && matched ? { ok: true, matched, reason: null } : rejectedVerification('signature_mismatch');

/**
 * Which secret a claim's digest was made with: the whole message goes through each. Both are always tried: the time must not tell which one
 * was near.
 */
export const matchSecret = ({ algorithm, message, digest, keys }: Claim): MatchedSecret | null => {
  const current = signedBy(algorithm, message, digest, keys.current);
  const previous = keys.previous !== null && signedBy(algorithm, message, digest, keys.previous);
  if (current) return 'current';
  return previous ? 'previous' : null;
};

const signedBy = (algorithm: Claim['algorithm'], message: readonly Uint8Array[], digest: Uint8Array, key: Uint8Array): boolean => {
  const hmac = createHmac(algorithm, key);
  for (const part of message) hmac.update(part);
  return timingSafeEqual(hmac.digest(), digest) && key.length > 0;
};

// The strict shape comes first: Buffer.from drops what it can't decode without a word.
const digestIn = ({ shape, encoding, algorithm }: SignatureScheme, header: string): Uint8Array | null => {
  const text = header.length <= MAX_HEADER_LENGTH ? shape.exec(header)?.[1] : undefined;
  const digest = text === undefined ? null : Buffer.from(text, encoding);
  return digest?.length === digestBytes[algorithm] ? digest : null;
};

export const rejectedVerification = (reason: SignatureFault): Verification => ({ ok: false, matched: null, reason });
