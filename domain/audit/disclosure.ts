import type { Recorded } from '../event.ts';

/**
 * When a caller reads stored secrets of an agent, each request is recorded in a stream of its own. An event in the
 * stream of the agent would change its revision, although a read changes nothing. No event contains a secret.
 */
export const category = 'disclosure';

/** What a runner has read when it read the runtime of its agent: ids and names, but no secrets. */
export type DisclosedRuntime = {
  agent_id: string;
  /** The log position of the newest event in the runtime that was read, as a consistency token. */
  position: string;
  models: readonly string[];
  skills: readonly { skill_id: string; version: number; has_config: boolean }[];
  tools: readonly string[];
  credentials: readonly { provider: string; label: string }[];
  /** The URL of the repository whose access token the runner has read; null if it has read none. */
  repo_token_of: string | null;
};

export type DisclosureEvent =
  | { type: 'SkillConfigDisclosed'; data: { agent_id: string; skill_id: string } }
  | { type: 'RuntimeDisclosed'; data: DisclosedRuntime };
export type Disclosure = { recorded: DisclosureEvent['type'] | null };

export const initial: Disclosure = { recorded: null };

export const evolve = (_: Disclosure, { type }: Recorded<DisclosureEvent>): Disclosure => ({ recorded: type });

/** Records which secrets a caller has read. Does nothing if this stream already has an event. */
export const record =
  (event: DisclosureEvent) =>
  ({ recorded }: Disclosure): DisclosureEvent[] =>
    recorded === null ? [event] : [];
