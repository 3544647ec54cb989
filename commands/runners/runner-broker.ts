import type { Position } from '../../domain/event.ts';
import type { RunnerConnection } from '../../domain/runners/runner-presence.ts';

export type AgentQueue = {
  /** The number of messages that no runner has received yet. */
  readonly waiting: number;
  /** The number of messages that a runner has received but not acknowledged. */
  readonly running: number;
  /**
   * The first message that is waiting: when the broker stored it, and the log position of its event. Null if none is
   * waiting.
   */
  readonly first: { readonly at: string; readonly position: Position | null } | null;
  /** The log position of the last event that was published to the broker; null if the broker has no message at all. */
  readonly publishedThrough: Position | null;
};

/** What the broker knows about runners. Every function throws Refusal unavailable if the broker does not answer. */
export type RunnerBroker = {
  /**
   * Returns the connections, open and closed, of the broker users with these public keys. The broker remembers closed
   * connections only for a limited time.
   */
  readonly connectionsOf: (publicKeys: readonly string[]) => Promise<RunnerConnection[]>;
  readonly queueOf: (tenant: string, agent: string) => Promise<AgentQueue>;
};
