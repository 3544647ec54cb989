import type { Recorded } from '../event.ts';

/**
 * Reads of an agent's stored secrets, or of its memory by a runner. Each event has its own stream: in the agent's stream, it would change
 * the revision, although a read changes nothing. No event contains a secret.
 */
export const category = 'disclosure';

/** Ids and names, but no secrets. */
export type DisclosedRuntime = {
  agent_id: string;
  /** The newest event that the runtime includes, as a consistency token. */
  position: string;
  models: readonly string[];
  /** `package_digest`: SHA-256 of the skill's archive, if it has one; absent in events of earlier versions. */
  skills: readonly { skill_id: string; version: number; has_config: boolean; package_digest?: string | null }[];
  tools: readonly string[];
  /** Events of earlier versions do not have `identity_id`. */
  credentials: readonly { identity_id?: string; provider: string; label: string }[];
  /** The repository for which the runtime contains an access token. */
  repo_token_of: string | null;
};

export type DisclosureEvent =
  | { type: 'SkillConfigDisclosed'; data: { agent_id: string; skill_id: string } }
  | { type: 'RuntimeDisclosed'; data: DisclosedRuntime }
  /** `entries`: how many the runner has read since the last such event of its key. */
  | { type: 'MemoryDisclosed'; data: { agent_id: string; entries: number } };
export type Disclosure = { recorded: DisclosureEvent['type'] | null };

export const initial: Disclosure = { recorded: null };

export const evolve = (_: Disclosure, { type }: Recorded<DisclosureEvent>): Disclosure => ({ recorded: type });

/** Does nothing if the stream already has an event. */
export const record =
  (event: DisclosureEvent) =>
  ({ recorded }: Disclosure): DisclosureEvent[] =>
    recorded === null ? [event] : [];
