import { withoutByteOrderMark } from '../../domain/byte-order-mark.ts';
import { scanJson } from '../../domain/json-scanner.ts';
import { Refusal } from '../../domain/refusal.ts';
import { mediaOf } from '../../domain/webhooks/body-inspection.ts';
import type { DeliveryFacts } from '../../domain/webhooks/delivery.ts';
import { payloadOf } from '../../domain/webhooks/form-payload.ts';

/**
 * The chunks of a large body. Each is read from the log when it is needed. If the size or the digest of the stored body
 * is wrong, the iteration throws instead of yielding the last chunk.
 */
export type BodyChunks = AsyncGenerator<Uint8Array>;

/**
 * Why a recorded body cannot be read. `erased`: the tenant was erased, and with it the key of the body. `damaged`: the
 * stored bytes were changed. `key`: the tenant's data key is missing or damaged.
 */
export type UnreadableBody = { readonly unreadable: 'erased' | 'damaged' | 'key' };

export type StoredBody = Uint8Array | BodyChunks | UnreadableBody;

/**
 * A recorded delivery with its body. Only the log contains the body. `agents` are the ids of the agents whose runners
 * get the delivery: its own agent unless it was blocked, and those to which it was released or sent again. The release
 * of a delivery that `isBlocked` may redact its body.
 */
export type StoredDelivery = {
  readonly facts: DeliveryFacts;
  readonly body: StoredBody;
  readonly agents: readonly string[];
  readonly isBlocked: boolean;
};

/**
 * Reads a recorded delivery from the log, and decrypts its body. Returns null if there is no such delivery. If the body
 * cannot be decrypted, the result contains the reason or, if the body is in chunks, reading the chunks throws.
 * @throws Refusal unavailable
 */
export type ReadDelivery = (tenant: string, id: string) => Promise<StoredDelivery | null>;

const KEY_RETRY_SECONDS = 30;
const DAMAGED = 'The stored body is damaged: the operator must restore it from a backup';
const NO_KEY = "The body cannot be opened: the tenant's data key is missing or damaged, and the operator must restore it";

export const unreadableBody = (reason: UnreadableBody['unreadable']): Refusal => {
  if (reason === 'erased') return new Refusal('not_found', "The body was erased: its tenant's data key was destroyed");
  if (reason === 'damaged') return new Refusal('internal', DAMAGED);
  return new Refusal('unavailable', NO_KEY, { retryAfter: KEY_RETRY_SECONDS });
};

/** Returns whether a body is damaged or its key is missing, so that a retry does not help. */
export const isUnreadableBody = ({ message }: Refusal): boolean => message === DAMAGED || message === NO_KEY;

/** Why a response has no payload although the delivery has a body; null if the response has a payload. */
export type MissingPayload = 'too_large' | 'erased' | 'damaged' | 'key_unavailable' | null;

/** Returns the reason why the payload of a delivery is not shown; null if it is shown, or if no body was stored. */
export const missingPayload = (recorded: StoredDelivery | null): MissingPayload => {
  if (!recorded || recorded.body instanceof Uint8Array) return null;
  if (!('unreadable' in recorded.body)) return 'too_large';
  return recorded.body.unreadable === 'key' ? 'key_unavailable' : recorded.body.unreadable;
};

/**
 * Returns the payload of a delivery as JSON text. JSON stays unchanged, and any other text becomes one JSON string. If
 * the body is too large or cannot be read, returns the text `null`.
 */
export const payloadText = ({ facts, body }: StoredDelivery): string => {
  if (!(body instanceof Uint8Array)) return 'null';
  const payload = mediaOf(facts.content_type) === 'form' ? (payloadOf(body) ?? body) : body;
  const text = new TextDecoder().decode(payload);
  return scanJson(withoutByteOrderMark(payload)) === 'json' ? text : JSON.stringify(text);
};
