import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectRunner, type Handler } from '../../infra/runner/runner-client.ts';
import type { Platform } from './platform.ts';
import type { Runner } from './runners.ts';
import type { Agent } from './tenants.ts';

export type ClientRunnerOptions = {
  /** What the runner does with an event before its effect. If it throws, the event has no effect. */
  readonly before?: Handler;
  readonly concurrency?: number;
  /** While an event is processed, the runner reports progress to the broker at this interval, in milliseconds. */
  readonly progressMs?: number | undefined;
};

/**
 * Starts a runner in this process, with the client for runners. It is much faster than one that starts a command for
 * each event. As runners have to, it has one effect per event id.
 */
export const startClientRunner = async (
  { url, dir, stopOnClose }: Platform,
  agent: Agent,
  { before, ...limits }: ClientRunnerOptions = {},
): Promise<Runner> => {
  const directory = join(dir, `runner-${agent.id}`);
  const effects = new Set<string>();
  const runs: string[] = [];
  let end = (): Promise<unknown> => Promise.resolve();

  const start = async (): Promise<void> => {
    const stop = new AbortController();
    const client = await connectRunner({ url, key: agent.runnerKey, dir: directory, report: () => {}, signal: stop.signal });
    const handle: Handler = async (event, context) => {
      runs.push(event.id);
      await before?.(event, context);
      effects.add(event.id);
    };
    const received = client.receive(handle, limits);
    // The promise is awaited only by `stop`, so a failure must not end the process before that.
    received.catch(() => {});
    end = () => {
      stop.abort();
      return received;
    };
  };
  await start();
  stopOnClose({ stop: () => end() });

  const runner: Runner = {
    agent,
    effects: () => [...effects],
    commandRuns: () => runs,
    processedIds: () => {
      const file = join(directory, `${agent.id}.ledger`);
      return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
    },
    kill: async () => {
      const stoppedAt = Date.now();
      await end();
      await start();
      return Date.now() - stoppedAt;
    },
    stop: () => end(),
    start: async () => {
      await start();
      return runner;
    },
  };
  return runner;
};
