import type { Recorded } from '../event.ts';

/**
 * Records the bodies that an integration has received, if it blocks body replays. Each body has one stream, whose name
 * is derived from the integration and the digest of the body.
 */
export const category = 'body';

export type BodyEvent = { type: 'WebhookBodySeen'; data: { provider_delivery_id: string } };

export type SeenBody = { provider_delivery_id: string | null; at: string };

export const initial: SeenBody = { provider_delivery_id: null, at: '' };

export const evolve = (_: SeenBody, event: Recorded<BodyEvent>): SeenBody => ({ ...event.data, at: event.at });

/**
 * A received body counts as known for this long (milliseconds), because providers can send a delivery again within this
 * time. After that, the same body is accepted again.
 */
export const REPLAY_WINDOW_MS = 3 * 24 * 3_600_000;

/**
 * Checks whether a body was received before. `first`: it was not received within REPLAY_WINDOW_MS, so the caller must
 * record it. `known`: it was received with the same delivery id. `replay`: it was received with another delivery id.
 */
export const checkBodyReplay = (seen: SeenBody, provider_delivery_id: string, at: string): 'first' | 'known' | 'replay' => {
  if (seen.provider_delivery_id === provider_delivery_id) return 'known';
  if (seen.provider_delivery_id === null || Date.parse(at) - Date.parse(seen.at) > REPLAY_WINDOW_MS) return 'first';
  return 'replay';
};
