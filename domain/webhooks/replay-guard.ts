import type { Recorded } from '../event.ts';

/** One stream per body of an integration that blocks replays, named by integration and digest. */
export const category = 'body';

export type BodyEvent = { type: 'WebhookBodySeen'; data: { provider_delivery_id: string } };

export type SeenBody = { provider_delivery_id: string | null; at: string };

export const initial: SeenBody = { provider_delivery_id: null, at: '' };

export const evolve = (_: SeenBody, event: Recorded<BodyEvent>): SeenBody => ({ ...event.data, at: event.at });

/** How long providers redeliver, automatically or on demand. After that, an equal body is not a replay. */
export const REPLAY_WINDOW_MS = 3 * 24 * 3_600_000;

/** `replay`: known under another delivery id; `known`: under this id; `first`: unknown, so it is recorded. */
export const checkBodyReplay = (seen: SeenBody, provider_delivery_id: string, at: string): 'first' | 'known' | 'replay' => {
  if (seen.provider_delivery_id === provider_delivery_id) return 'known';
  if (seen.provider_delivery_id === null || Date.parse(at) - Date.parse(seen.at) > REPLAY_WINDOW_MS) return 'first';
  return 'replay';
};
