import type { CustomFetch } from 'openid-client';
import type { GuardedClient } from '../egress/guarded-client.ts';

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 256 * 1024;

/** Token types that the library supports. */
const STANDARD_TYPES = ['bearer', 'dpop'];

/** Parses a body as a JSON object; null if it is not one. */
const objectIn = (bytes: Uint8Array): Record<string, unknown> | null => {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
};

/**
 * Returns the answer of a token endpoint in the form of RFC 6749. GitHub and Slack report errors with status 200. Slack
 * uses other token types for bearer tokens, such as `bot`.
 */
const standardAnswer = (status: number, bytes: Uint8Array): { readonly status: number; readonly bytes: Uint8Array } => {
  const body = status === 200 ? objectIn(bytes) : null;
  if (!body) return { status, bytes };
  if (typeof body.error === 'string' && body.access_token === undefined) return { status: 400, bytes };
  const type = typeof body.token_type === 'string' ? body.token_type.toLowerCase() : 'bearer';
  if (typeof body.access_token !== 'string' || STANDARD_TYPES.includes(type)) return { status, bytes };
  return { status, bytes: Buffer.from(JSON.stringify({ ...body, token_type: 'bearer' })) };
};

/** Sends the requests of the OAuth library with the guarded client. Redirects are not followed. */
export const fetchTokens =
  (client: GuardedClient): CustomFetch =>
  async (url, { method, headers, body }) => {
    const answer = await client.read({
      url,
      method: method as 'GET' | 'POST',
      headers: Object.fromEntries(new Headers(headers)),
      ...(body !== undefined && body !== null && { body: String(body) }),
      totalMs: TIMEOUT_MS,
      maxBytes: MAX_ANSWER_BYTES,
      maxRedirects: 0,
    });
    const answered = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const { status, bytes } = standardAnswer(answer.status, answer.bytes);
    // Without the challenge, the library reads the error code in the body of a response with status 401.
    const kept = answered.filter(([name]) => name !== 'content-length' && name !== 'www-authenticate');
    return new Response(status === 204 || status === 304 ? null : (bytes as never), { status, headers: kept });
  };
