import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Program, startProgram } from '../fixtures/child-process.ts';
import { main, type Platform } from './platform.ts';
import type { Agent } from './tenants.ts';

export type Runner = {
  readonly agent: Agent;
  /** Ids of the events whose effect the command had, in that order, each on disk before it was acknowledged. */
  readonly effects: () => string[];
  /** Ids as they were given to the command, however often. */
  readonly given: () => string[];
  /** Ids in the runner's own ledger. */
  readonly ledger: () => string[];
  /** Kills it at once and starts another in its place; resolves with the ms until that one waits for deliveries. */
  readonly kill: () => Promise<number>;
  readonly stop: () => Promise<unknown>;
};

const linesOf = (file: string): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);

/** What a runner's agent does: one effect for an event, kept together with the event's id, as the contract of runners asks. */
const command = (home: string): string =>
  [
    `cd '${home}'`,
    'echo "$ANNALS_EVENT_ID" >> given',
    'grep -qx "$ANNALS_EVENT_ID" effects 2>/dev/null || { echo "$ANNALS_EVENT_ID" >> effects && sync effects; }',
  ].join(' && ');

/** A real runner in a process of its own, whose command writes down what it is given. */
export const startRunner = async ({ url, dir, accompany }: Platform, agent: Agent): Promise<Runner> => {
  const home = join(dir, `runner-${agent.id}`);
  mkdirSync(home, { recursive: true });
  const { PATH } = process.env;
  const args = [main, 'runner', '--agent', agent.slug, '--exec', command(home)];
  const env = { PATH, ANNALS_URL: url, ANNALS_KEY: agent.runnerKey };
  const start = (): Program => {
    const one = startProgram(process.execPath, args, { cwd: home, env });
    accompany(one);
    return one;
  };
  let running = start();
  await running.waitForOutput(/waiting for deliveries/);
  return {
    agent,
    effects: () => linesOf(join(home, 'effects')),
    given: () => linesOf(join(home, 'given')),
    ledger: () => linesOf(join(home, '.annals', 'runner', `${agent.id}.ledger`)),
    kill: async () => {
      const killedAt = Date.now();
      await running.stop('SIGKILL');
      running = start();
      await running.waitForOutput(/waiting for deliveries/);
      return Date.now() - killedAt;
    },
    stop: () => running.stop(),
  };
};
