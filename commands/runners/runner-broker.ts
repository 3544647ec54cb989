import type { Position } from '../../domain/event.ts';
import type { RunnerConnection } from '../../domain/runners/runner-presence.ts';

/** The state of the messages to one agent at the broker. */
export type AgentQueue = {
  /** The number of messages that no runner has received yet. */
  readonly waiting: number;
  /** The number of messages that a runner has received but not acknowledged. */
  readonly running: number;
  /**
   * The first waiting message: when the broker stored it, and the log position of its event; null if none is waiting.
   */
  readonly first: { readonly at: string; readonly position: Position | null } | null;
  /** The log position up to which events were sent to the broker; null if the broker has no message at all. */
  readonly publishedThrough: Position | null;
};

/** The broker's knowledge about runners. Every function throws Refusal unavailable if the broker does not answer. */
export type RunnerBroker = {
  /**
   * Returns the open and closed connections of the broker users with these public keys, as far as the broker remembers
   * them.
   */
  readonly connectionsOf: (publicKeys: readonly string[]) => Promise<RunnerConnection[]>;
  readonly queueOf: (tenant: string, agent: string) => Promise<AgentQueue>;
};
