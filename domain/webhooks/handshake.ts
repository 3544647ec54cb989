import { createHmac } from 'node:crypto';
import { withoutByteOrderMark } from '../byte-order-mark.ts';
import type { InspectedBody } from './body-inspection.ts';
import type { ReceivedBody } from './delivery-body.ts';
import type { Provider } from './provider.ts';

/**
 * The response that a provider expects when it checks a webhook URL. `body` is sent as JSON; if it is null, the
 * response has no body.
 */
export type HandshakeReply = { readonly status: 200 | 204; readonly body: Readonly<Record<string, string | number>> | null };

type Fields = InspectedBody['fields'];
type Handshake = {
  readonly pointers: readonly string[];
  readonly reply: (fields: Fields, key: Uint8Array) => HandshakeReply | null;
  /** Returns whether a body has nothing that the provider would send in a delivery. Called only if there is a reply. */
  readonly isBare: (document: Readonly<Record<string, unknown>>) => boolean;
};

const MAX_CHALLENGE_LENGTH = 4_096;

const ok = (body: HandshakeReply['body']): HandshakeReply => ({ status: 200, body });
const hasOnly = (document: unknown, ...names: readonly string[]): boolean =>
  typeof document === 'object' && document !== null && Object.keys(document).every((name) => names.includes(name));
const hasNone = (document: object, ...names: readonly string[]): boolean => names.every((name) => !Object.hasOwn(document, name));
const isChallenge = (text: string | undefined): text is string => text !== undefined && text.length <= MAX_CHALLENGE_LENGTH;

const HANDSHAKES: Partial<Record<Provider, Handshake>> = {
  // https://docs.slack.dev/reference/events/url_verification
  slack: {
    pointers: ['/type', '/challenge'],
    reply: (fields) => {
      const challenge = fields['/challenge'];
      return fields['/type'] === 'url_verification' && isChallenge(challenge) ? ok({ challenge }) : null;
    },
    isBare: (document) => hasOnly(document, 'token', 'challenge', 'type', 'api_app_id', 'team_id', 'enterprise_id'),
  },
  // https://developers.zoom.us/docs/api/webhooks/#validate-your-webhook-endpoint
  zoom: {
    pointers: ['/event', '/payload/plainToken'],
    reply: (fields, key) => {
      const plainToken = fields['/payload/plainToken'];
      if (fields['/event'] !== 'endpoint.url_validation' || !isChallenge(plainToken)) return null;
      return ok({ plainToken, encryptedToken: createHmac('sha256', key).update(plainToken).digest('hex') });
    },
    isBare: (document) => hasOnly(document, 'event', 'event_ts', 'payload') && hasOnly(document.payload, 'plainToken'),
  },
  // https://discord.com/developers/docs/interactions/overview: an interaction has type 1 and an id, and a webhook event
  // has type 0.
  discord: {
    pointers: ['/type', '/id'],
    reply: (fields) => {
      if (fields['/type'] === '1' && fields['/id'] !== undefined) return ok({ type: 1 });
      return fields['/type'] === '0' ? { status: 204, body: null } : null;
    },
    isBare: (document) => hasNone(document, 'event', 'data', 'message'),
  },
};

/** Returns JSON pointers to the body fields that are needed to answer the handshake of a provider. */
export const handshakePointers = (provider: Provider): readonly string[] => HANDSHAKES[provider]?.pointers ?? [];

/** A handshake is not longer than this, in bytes. */
const MAX_HANDSHAKE_BYTES = 16_384;

const isBareBody = ({ isBare }: Handshake, body: ReceivedBody): boolean => {
  if (!(body instanceof Uint8Array) || body.length > MAX_HANDSHAKE_BYTES) return false;
  try {
    return isBare(JSON.parse(Buffer.from(withoutByteOrderMark(body)).toString()));
  } catch {
    return false;
  }
};

/**
 * Returns the response to a provider's handshake; null if the request is not a handshake, or if it has content, which
 * must not be lost. `key` is the key with which the signature of the request was verified.
 */
export const handshakeReply = (
  provider: Provider,
  { body, fields }: { readonly body: ReceivedBody; readonly fields: Fields },
  key: Uint8Array,
): HandshakeReply | null => {
  const handshake = HANDSHAKES[provider];
  const reply = handshake?.reply(fields, key) ?? null;
  return reply && isBareBody(handshake!, body) ? reply : null;
};
