import type { Recorded } from '../event.ts';

/**
 * A received body, recorded only if the integration blocks body replays. One stream per body; its id is derived from the integration and
 * the digest.
 */
export const category = 'body';

export type BodyEvent = { type: 'WebhookBodySeen'; data: { provider_delivery_id: string } };

export type SeenBody = { provider_delivery_id: string | null; at: string };

export const initial: SeenBody = { provider_delivery_id: null, at: '' };

export const evolve = (_: SeenBody, event: Recorded<BodyEvent>): SeenBody => ({ ...event.data, at: event.at });

/** Within this time, providers send deliveries again. After it, the same body is accepted again. */
export const REPLAY_WINDOW_MS = 3 * 24 * 3_600_000;

/**
 * `first`: not received within REPLAY_WINDOW_MS, so the caller must record it now. `known`: received with the same delivery id. `replay`:
 * with another one.
 */
export const checkBodyReplay = (seen: SeenBody, provider_delivery_id: string, at: string): 'first' | 'known' | 'replay' => {
  if (seen.provider_delivery_id === provider_delivery_id) return 'known';
  if (seen.provider_delivery_id === null || Date.parse(at) - Date.parse(seen.at) > REPLAY_WINDOW_MS) return 'first';
  return 'replay';
};
