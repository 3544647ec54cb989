import { mediaOf } from '../../domain/bodies/body-inspection.ts';
import { payloadOf } from '../../domain/bodies/form-payload.ts';
import { withoutByteOrderMark } from '../../domain/byte-order-mark.ts';
import type { DeliveryFacts } from '../../domain/deliveries/delivery.ts';
import { scanJson } from '../../domain/json-scanner.ts';
import { Refusal } from '../../domain/refusal.ts';

/** Each chunk is read when it is needed. If size or digest of the stored body is wrong, throws instead of yielding the last chunk. */
export type BodyChunks = AsyncGenerator<Uint8Array>;

/** `erased`: the tenant was erased, and with it the key. `damaged`: the stored bytes were changed. `key`: the data key is missing or damaged. */
export type UnreadableBody = { readonly unreadable: 'erased' | 'damaged' | 'key' };

export type StoredBody = Uint8Array | BodyChunks | UnreadableBody;

/**
 * Only the log contains the body. `agents` get it: its own unless blocked, and those to which it was released or sent again. The release
 * of a delivery that `isBlocked` may redact its body.
 */
export type StoredDelivery = {
  readonly facts: DeliveryFacts;
  readonly body: StoredBody;
  readonly agents: readonly string[];
  readonly isBlocked: boolean;
};

/**
 * Null if there is none. If the body cannot be decrypted, the result has the reason or, for chunks, reading them throws.
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

/** The body is damaged or its key is missing: a retry does not help. */
export const isUnreadableBody = ({ message }: Refusal): boolean => message === DAMAGED || message === NO_KEY;

/** Why the response has no payload although the delivery has a body; null if it has one. */
export type MissingPayload = 'too_large' | 'erased' | 'damaged' | 'key_unavailable' | null;

/** Null if the payload is shown, or if no body was stored. */
export const missingPayload = (recorded: StoredDelivery | null): MissingPayload => {
  if (!recorded || recorded.body instanceof Uint8Array) return null;
  if (!('unreadable' in recorded.body)) return 'too_large';
  return recorded.body.unreadable === 'key' ? 'key_unavailable' : recorded.body.unreadable;
};

/** JSON stays unchanged; other text becomes one JSON string. The text `null` if the body is too large or cannot be read. */
export const payloadText = ({ facts, body }: StoredDelivery): string => {
  if (!(body instanceof Uint8Array)) return 'null';
  const payload = mediaOf(facts.content_type) === 'form' ? (payloadOf(body) ?? body) : body;
  const text = new TextDecoder().decode(payload);
  return scanJson(withoutByteOrderMark(payload)) === 'json' ? text : JSON.stringify(text);
};
