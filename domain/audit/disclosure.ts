import type { Recorded } from '../event.ts';

/**
 * When a caller reads stored secrets of an agent, each request is recorded in a stream of its own. An event in the stream
 * of the agent would change its revision, although a read changes nothing. No event contains a secret.
 */
export const category = 'disclosure';

export type DisclosureEvent = { type: 'SkillConfigDisclosed'; data: { agent_id: string; skill_id: string } };
export type Disclosure = { recorded: DisclosureEvent['type'] | null };

export const initial: Disclosure = { recorded: null };

export const evolve = (_: Disclosure, { type }: Recorded<DisclosureEvent>): Disclosure => ({ recorded: type });

/** Records which secrets a caller has read. */
export const record =
  (event: DisclosureEvent) =>
  ({ recorded }: Disclosure): DisclosureEvent[] =>
    recorded === null ? [event] : [];
