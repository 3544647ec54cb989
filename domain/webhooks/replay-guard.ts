import type { Recorded } from '../event.ts';

/**
 * Streams of known bodies, for integrations that block body replays. Each stream is of one body, and is named by the
 * integration and the digest of the body.
 */
export const category = 'body';

export type BodyEvent = { type: 'WebhookBodySeen'; data: { provider_delivery_id: string } };

export type SeenBody = { provider_delivery_id: string | null; at: string };

export const initial: SeenBody = { provider_delivery_id: null, at: '' };

export const evolve = (_: SeenBody, event: Recorded<BodyEvent>): SeenBody => ({ ...event.data, at: event.at });

/**
 * A body is remembered for this time, because providers may send a delivery again within it. After that, an equal body
 * is not a replay.
 */
export const REPLAY_WINDOW_MS = 3 * 24 * 3_600_000;

/**
 * Checks whether a body is known. `first`: it is not known or no longer remembered, so the caller records it. `known`:
 * it came under the same delivery id. `replay`: it came under another delivery id.
 */
export const checkBodyReplay = (seen: SeenBody, provider_delivery_id: string, at: string): 'first' | 'known' | 'replay' => {
  if (seen.provider_delivery_id === provider_delivery_id) return 'known';
  if (seen.provider_delivery_id === null || Date.parse(at) - Date.parse(seen.at) > REPLAY_WINDOW_MS) return 'first';
  return 'replay';
};
