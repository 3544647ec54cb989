import { createHash } from 'node:crypto';
import { chunksOf, type ReceivedBody } from '../../bodies/received-body.ts';
import type { SignatureScheme, SignedRequest } from '../conventions/signature-scheme.ts';
import { signedUrls } from './twilio-urls.ts';

const bytesOf = (body: ReceivedBody): Uint8Array => (body instanceof Uint8Array ? body : Buffer.concat(chunksOf(body)));

/** Joins the fields to one text, sorted by name, each name followed by its value; the values of a repeated field are sorted, too. */
const sortedFields = (form: Uint8Array): string => {
  const fields = new Map<string, Set<string>>();
  // The ampersand at the start prevents URLSearchParams from removing a question mark there.
  for (const [name, value] of new URLSearchParams(`&${Buffer.from(form).toString()}`))
    fields.set(name, (fields.get(name) ?? new Set()).add(value));
  return [...fields.keys()]
    .sort()
    .flatMap((name) => [...fields.get(name)!].sort().map((value) => name + value))
    .join('');
};

const hasDigest = (body: ReceivedBody, digest: string): boolean => {
  const sha256 = createHash('sha256');
  for (const chunk of chunksOf(body)) sha256.update(chunk);
  return sha256.digest('hex') === digest;
};

/** In bytes: of all texts that one signature is compared with, one for each form of the URL. Each must be hashed separately. */
const MAX_MESSAGE_BYTES = 1_048_576;

/** Twilio sends far fewer. Sorting the fields of a stranger's request must not take long. */
const MAX_FIELDS = 10_000;

const hasTooManyFields = (form: Uint8Array): boolean => {
  let count = 1;
  for (let at = form.indexOf(0x26); at >= 0 && count <= MAX_FIELDS; at = form.indexOf(0x26, at + 1)) count++;
  return count > MAX_FIELDS;
};

/** The bytes that are signed after the URL; null if the body is neither a form of Twilio nor has the digest in the URL. */
const afterUrl = (url: string, body: ReceivedBody): Uint8Array | null => {
  const digest = URL.parse(url)?.searchParams.get('bodySHA256');
  if (!digest) {
    const form = bytesOf(body);
    return hasTooManyFields(form) ? null : Buffer.from(sortedFields(form));
  }
  return hasDigest(body, digest) ? new Uint8Array(0) : null;
};

const PORT = /^(https?:\/\/[^/?#:]*)(?::(\d+))?/;

/** Returns the URL without its port; if it has none, with the default port. */
const withOtherPort = (url: string): string =>
  url.replace(PORT, (_, origin: string, port?: string) => {
    if (port) return origin;
    return `${origin}:${origin.startsWith('https') ? 443 : 80}`;
  });

/**
 * The URL and, for a form, its fields. Null if any other body lacks its digest in the query parameter `bodySHA256`. See
 * https://www.twilio.com/docs/usage/webhooks/webhooks-security
 */
export const twilioMessage: SignatureScheme['message'] = ({ url, body }) => {
  const rest = afterUrl(url(), body);
  return rest && [Buffer.from(url()), rest];
};

/**
 * `twilioMessage` for other forms of the URL: some products sign it with its port, and some encode characters of the query only after
 * signing. The longer the messages are, the fewer are returned, but at least one.
 */
export const otherTwilioMessages = (
  { url }: SignedRequest,
  [, rest = new Uint8Array()]: readonly Uint8Array[],
): readonly (readonly Uint8Array[])[] => {
  const requested = url();
  const count = Math.floor(MAX_MESSAGE_BYTES / (requested.length + rest.length));
  const forms = count > 2 ? signedUrls(requested) : [requested];
  const urls = forms.flatMap((form) => [form, withOtherPort(form)]).slice(1, Math.max(count, 2));
  return urls.map((form) => [Buffer.from(form), rest]);
};
