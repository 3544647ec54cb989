import type { Recorded } from '../event.ts';

/**
 * Requests in which a caller reads stored secrets of an agent, or a runner reads its memory. Each event has its own
 * stream: in the stream of the agent, it would change the agent's revision, although a read changes nothing. No event
 * contains a secret.
 */
export const category = 'disclosure';

/** What a runner gets when it reads the runtime of its agent: ids and names, but no secrets. */
export type DisclosedRuntime = {
  agent_id: string;
  /** The log position of the newest event that the runtime includes, as a consistency token. */
  position: string;
  models: readonly string[];
  /** `package_digest` is the SHA-256 of the skill's archive, if it has one. Events of earlier versions do not have it. */
  skills: readonly { skill_id: string; version: number; has_config: boolean; package_digest?: string | null }[];
  tools: readonly string[];
  /** Events of earlier versions do not have `identity_id`. */
  credentials: readonly { identity_id?: string; provider: string; label: string }[];
  /** The URL of the repository for which the runtime contains an access token; null if it contains none. */
  repo_token_of: string | null;
};

export type DisclosureEvent =
  | { type: 'SkillConfigDisclosed'; data: { agent_id: string; skill_id: string } }
  | { type: 'RuntimeDisclosed'; data: DisclosedRuntime }
  /** `entries` is the number of entries that the runner has read since the last such event of its key. */
  | { type: 'MemoryDisclosed'; data: { agent_id: string; entries: number } };
export type Disclosure = { recorded: DisclosureEvent['type'] | null };

export const initial: Disclosure = { recorded: null };

export const evolve = (_: Disclosure, { type }: Recorded<DisclosureEvent>): Disclosure => ({ recorded: type });

/** Records what a caller has read. Does nothing if the stream already has an event. */
export const record =
  (event: DisclosureEvent) =>
  ({ recorded }: Disclosure): DisclosureEvent[] =>
    recorded === null ? [event] : [];
