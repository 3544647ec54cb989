import type { Position } from '../../domain/event.ts';
import type { RunnerConnection } from '../../domain/runners/runner-presence.ts';

/** The messages to one agent, as the broker has them. */
export type AgentQueue = {
  /** Messages that no runner has received yet. */
  readonly waiting: number;
  /** Messages that a runner has received and not acknowledged. */
  readonly running: number;
  /** The first of the waiting messages: when it was stored, and the log position of its event; null if none waits. */
  readonly first: { readonly at: string; readonly position: Position | null } | null;
  /** Up to which log position events were sent to the broker; null if it has no message at all. */
  readonly publishedThrough: Position | null;
};

/** What the broker knows about runners. Every function throws Refusal unavailable if the broker does not answer. */
export type RunnerBroker = {
  /**
   * The connections, open and closed ones, of the broker users with these public keys, as far as the broker remembers.
   */
  readonly connectionsOf: (publicKeys: readonly string[]) => Promise<RunnerConnection[]>;
  readonly queueOf: (tenant: string, agent: string) => Promise<AgentQueue>;
};
