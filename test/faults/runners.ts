import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bareEnvironment, mainFile, type Program, startProgram } from '../fixtures/child-process.ts';
import type { RunningPlatform } from './running-platform.ts';
import type { Agent } from './tenants.ts';

export type Runner = {
  readonly agent: Agent;
  /**
   * Returns the ids of the events for which the command took effect, in the order of the effects. Each id is in a file
   * before its message is acknowledged.
   */
  readonly effects: () => string[];
  /**
   * Returns the event ids of all runs of the command. If the command ran twice for an event, the event's id occurs
   * twice.
   */
  readonly commandRuns: () => string[];
  /** Returns the ids of the events that the runner has stored as processed. */
  readonly processedIds: () => string[];
  /** Returns what the runner has printed since its last start, such as lost connections and failed attempts. */
  readonly lines: () => string[];
  /**
   * Kills the runner with SIGKILL and starts it again. @returns the milliseconds until the new process waits for
   * deliveries
   */
  readonly kill: () => Promise<number>;
  readonly stop: () => Promise<unknown>;
  /** Starts the runner again after `stop`. Resolves when it waits for deliveries. */
  readonly start: () => Promise<Runner>;
};

const linesOf = (file: string): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);

/**
 * Returns the shell command that the runner executes for each event. A second run for an event must have no effect.
 * Therefore, the command stores the event's id with each effect, and does nothing if the id is already stored.
 */
const agentCommand = (home: string): string =>
  [
    `cd '${home}'`,
    'echo "$ANNALS_EVENT_ID" >> runs',
    'grep -qx "$ANNALS_EVENT_ID" effects 2>/dev/null || echo "$ANNALS_EVENT_ID" >> effects',
  ].join(' && ');

/** Starts a real runner in a separate process. Its command writes the ids of the events to files. */
export const startRunner = async ({ url, dir, stopOnClose }: RunningPlatform, agent: Agent): Promise<Runner> => {
  const home = join(dir, `runner-${agent.id}`);
  mkdirSync(home, { recursive: true });
  const args = [mainFile, 'runner', '--agent', agent.slug, '--exec', agentCommand(home)];
  const env = { ...bareEnvironment(), ANNALS_URL: url, ANNALS_KEY: agent.runnerKey };
  const start = (): Program => {
    const program = startProgram(process.execPath, args, { cwd: home, env });
    stopOnClose(program);
    return program;
  };
  let running = start();
  await running.waitForOutput(/waiting for deliveries/);
  const runner: Runner = {
    agent,
    effects: () => linesOf(join(home, 'effects')),
    commandRuns: () => linesOf(join(home, 'runs')),
    processedIds: () => linesOf(join(home, '.annals', 'runner', `${agent.id}.ledger`)),
    lines: () => running.output().split('\n').slice(0, -1),
    kill: async () => {
      const killedAt = Date.now();
      await running.stop('SIGKILL');
      running = start();
      await running.waitForOutput(/waiting for deliveries/);
      return Date.now() - killedAt;
    },
    stop: () => running.stop(),
    start: async () => {
      running = start();
      await running.waitForOutput(/waiting for deliveries/);
      return runner;
    },
  };
  return runner;
};
