import { createHmac } from 'node:crypto';
import type { SignatureScheme, SignedRequest } from './conventions/signature-scheme.ts';

/** Whether the platform can sign. It signs with the key that verifies, so a public key cannot sign. */
export const canSign = ({ algorithm }: SignatureScheme): boolean => algorithm !== 'ed25519';

/**
 * Returns the headers with a signature made at the Unix time `seconds`. `request` must already contain other headers that are signed, such
 * as the id. `verifySignature` accepts the result.
 * @throws Error if the scheme cannot sign, or if the request lacks a signed header
 */
export const signatureHeaders = (
  scheme: SignatureScheme,
  request: SignedRequest,
  key: Uint8Array,
  seconds: number,
): Readonly<Record<string, string>> => {
  const { algorithm, encoding, prefix = '', timestamp } = scheme;
  const [header] = scheme.headers as readonly [string];
  if (algorithm === 'ed25519') throw new Error('only the sender has the private key');
  if (algorithm === 'token') return { [header]: Buffer.from(key).toString() };
  const time = timestamp ? String(seconds) : '';
  const message = scheme.message(request, time);
  if (!message) throw new Error('the request lacks a header that is signed');
  const hmac = createHmac(algorithm, key);
  for (const part of message) hmac.update(part);
  const signature = prefix + hmac.digest(encoding === 'base64' ? 'base64' : 'hex');
  const [timeHeader] = timestamp?.headers ?? [];
  if (timeHeader === undefined) return { [header]: signature };
  return timeHeader === header ? { [header]: `t=${time},${signature}` } : { [timeHeader]: time, [header]: signature };
};
