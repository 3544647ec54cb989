import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectRunner, type Handler } from '../../infra/runner/runner-client.ts';
import type { Runner } from './runners.ts';
import type { RunningPlatform } from './running-platform.ts';
import type { Agent } from './tenants.ts';

export type ClientRunnerOptions = {
  /**
   * The runner calls this handler with each event before the event takes effect. If the handler throws, the event has
   * no effect.
   */
  readonly before?: Handler;
  readonly concurrency?: number;
  /** The interval in milliseconds at which the runner tells the broker that it is still processing an event. */
  readonly progressMs?: number | undefined;
};

/**
 * Starts a runner in this process with the platform's client library for runners. This is much faster than a runner
 * that starts a command for each event. Like every correct runner, it has one effect per event id, even if it gets an
 * event twice.
 */
export const startClientRunner = async (
  { url, dir, stopOnClose }: RunningPlatform,
  agent: Agent,
  { before, ...limits }: ClientRunnerOptions = {},
): Promise<Runner> => {
  const directory = join(dir, `runner-${agent.id}`);
  const effects = new Set<string>();
  const runs: string[] = [];
  const lines: string[] = [];
  let end = (): Promise<unknown> => Promise.resolve();

  const start = async (): Promise<void> => {
    const stop = new AbortController();
    const client = await connectRunner({
      url,
      key: agent.runnerKey,
      dir: directory,
      report: (line) => lines.push(line),
      signal: stop.signal,
    });
    const handle: Handler = async (event, context) => {
      runs.push(event.id);
      await before?.(event, context);
      effects.add(event.id);
    };
    const received = client.receive(handle, limits);
    // The promise is awaited only when the runner stops. Without this handler, a failure before that would end the
    // process.
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
    lines: () => lines,
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
