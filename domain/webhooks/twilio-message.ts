import { createHash } from 'node:crypto';
import { chunksOf, type ReceivedBody } from './delivery-body.ts';
import type { SignatureScheme } from './signature.ts';

const bytesOf = (body: ReceivedBody): Uint8Array => (body instanceof Uint8Array ? body : Buffer.concat(chunksOf(body)));

/**
 * Returns the fields of a form, sorted by name, as one text in which each name is followed by its value. If a field
 * occurs several times, its values are sorted, too.
 */
const sortedFields = (form: Uint8Array): string => {
  // The ampersand at the start prevents URLSearchParams from removing a question mark there.
  const fields = new URLSearchParams(`&${Buffer.from(form).toString()}`);
  return [...new Set(fields.keys())]
    .sort()
    .flatMap((name) => [...new Set(fields.getAll(name))].sort().map((value) => name + value))
    .join('');
};

const hasDigest = (body: ReceivedBody, digest: string): boolean => {
  const sha256 = createHash('sha256');
  for (const chunk of chunksOf(body)) sha256.update(chunk);
  return sha256.digest('hex') === digest;
};

const signedWith = (url: string, body: ReceivedBody): readonly Uint8Array[] | null => {
  const digest = URL.parse(url)?.searchParams.get('bodySHA256');
  if (digest) return hasDigest(body, digest) ? [Buffer.from(url)] : null;
  return [Buffer.from(url + sortedFields(bytesOf(body)))];
};

const PORT = /^(https?:\/\/[^/?#:]*)(?::(\d+))?/;

/** Returns a URL without its port; if it has no port, returns it with the default port. */
const withOtherPort = (url: string): string =>
  url.replace(PORT, (_, origin: string, port?: string) => {
    if (port) return origin;
    return `${origin}:${origin.startsWith('https') ? 443 : 80}`;
  });

/**
 * Returns the bytes that Twilio signs: the URL and, if the body is a form, its fields. Any other body must have the
 * digest in the query parameter `bodySHA256` of the URL; if not, returns null. See
 * https://www.twilio.com/docs/usage/webhooks/webhooks-security
 */
export const twilioMessage: SignatureScheme['message'] = ({ url, body }) => signedWith(url(), body);

/**
 * Returns the same as `twilioMessage`, but for the other form of the URL: some products of Twilio sign the URL with its
 * port, and others without it.
 */
export const twilioMessageWithOtherPort: SignatureScheme['message'] = ({ url, body }) => signedWith(withOtherPort(url()), body);
