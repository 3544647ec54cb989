import type { Position } from '../../domain/event.ts';
import type { RunnerConnection } from '../../domain/runners/runner-presence.ts';

export type AgentQueue = {
  /** Messages that no runner has received yet. */
  readonly waiting: number;
  /** Messages that a runner has received but not acknowledged. */
  readonly running: number;
  /** The first waiting message: when the broker stored it, and the position of its event. */
  readonly first: { readonly at: string; readonly position: Position | null } | null;
  /** The position of the last published event; null if the broker has no message at all. */
  readonly publishedThrough: Position | null;
};

/** Every function throws Refusal unavailable if the broker does not answer. */
export type RunnerBroker = {
  /** Returns the open and closed connections by public key. The broker remembers closed ones only for a limited time. */
  readonly connectionsOf: (publicKeys: readonly string[]) => Promise<RunnerConnection[]>;
  readonly queueOf: (tenant: string, agent: string) => Promise<AgentQueue>;
};
