import type { CustomFetch } from 'openid-client';
import { withoutByteOrderMark } from '../../domain/byte-order-mark.ts';
import type { GuardedClient } from '../egress/guarded-client.ts';

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 256 * 1024;

/** Token types that the library supports. */
const STANDARD_TYPES = ['bearer', 'dpop'];

type Answer = Record<string, unknown>;

/** Returns the members of a body that is a JSON object or, as GitHub answers without being asked for JSON, a form; null otherwise. */
const membersIn = (bytes: Uint8Array): Answer | null => {
  const text = Buffer.from(withoutByteOrderMark(bytes)).toString();
  if (/^(?:[\w.~%+-]+=[^\s<{]*&)?(?:access_token|error)=[^\s<{]*$/.test(text)) return Object.fromEntries(new URLSearchParams(text));
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Answer) : null;
  } catch {
    return null;
  }
};

/** The longest lifetime of a token that is believed, in seconds. */
const MAX_LIFETIME = 10 * 365 * 86_400;

const isLifetime = (value: unknown): boolean =>
  (typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')) && Number(value) >= 0 && Number(value) <= MAX_LIFETIME;

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/**
 * Returns an answer with tokens in the form of RFC 6749, 5.1. What is optional and cannot be used is left out, because the
 * provider may have replaced the refresh token: if the answer was refused, the account would lose its connection.
 */
const standardTokens = (answer: Answer): Answer => {
  const { token_type, scope, expires_in, refresh_token, id_token } = answer;
  const type = typeof token_type === 'string' ? token_type.toLowerCase() : '';
  const standard: Answer = {
    ...answer,
    // Slack uses other types for bearer tokens, such as `bot`.
    token_type: STANDARD_TYPES.includes(type) ? type : 'bearer',
    scope: Array.isArray(scope) ? scope.filter((one) => typeof one === 'string').join(' ') : textOrNull(scope),
    refresh_token: textOrNull(refresh_token),
    id_token: textOrNull(id_token),
    expires_in: isLifetime(expires_in) ? Number(expires_in) : null,
  };
  const isUsable = ([, value]: [string, unknown]): boolean => value !== null && value !== undefined && value !== '';
  return Object.fromEntries(Object.entries(standard).filter(isUsable));
};

type Standard = { readonly status: number; readonly body: Uint8Array | string; readonly isJson: boolean };

/** Returns the form of RFC 6749. GitHub and Slack report errors with status 200, and some proxies change the content type. */
const standardAnswer = (status: number, bytes: Uint8Array): Standard => {
  const answer = membersIn(bytes);
  if (!answer) return { status, body: bytes, isJson: false };
  if (status < 200 || status >= 300) return { status, body: JSON.stringify(answer), isJson: true };
  if (typeof answer.error === 'string' && answer.access_token === undefined)
    return { status: 400, body: JSON.stringify(answer), isJson: true };
  if (typeof answer.access_token !== 'string') return { status, body: bytes, isJson: true };
  return { status: 200, body: JSON.stringify(standardTokens(answer)), isJson: true };
};

/** Redirects are not followed. */
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
    const { status, body: answerBody, isJson } = standardAnswer(answer.status, answer.bytes);
    // Without the challenge, the library reads the error code in the body of a response with status 401.
    const kept = new Headers(answered.filter(([name]) => name !== 'content-length' && name !== 'www-authenticate'));
    if (isJson) kept.set('content-type', 'application/json');
    return new Response(status === 204 || status === 304 ? null : answerBody, { status, headers: kept });
  };
