import type { RunnerBroker } from '../../commands/runners/runner-broker.ts';

/** The maximum number of an agent's credentials, newest first, for whose connections the broker is asked. */
const MAX_KEYS = 20;
const KEYS_AT_ONCE = 10;

/**
 * Returns whether a runner with one of these public keys is connected. The newest keys are first.
 * @throws Refusal unavailable
 */
export const isRunnerConnected = async (broker: RunnerBroker, keys: readonly string[]): Promise<boolean> => {
  for (let from = 0; from < Math.min(keys.length, MAX_KEYS); from += KEYS_AT_ONCE) {
    const connections = await broker.connectionsOf(keys.slice(from, from + KEYS_AT_ONCE));
    if (connections.some(({ until }) => until === null)) return true;
  }
  return false;
};
