import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Program, program } from '../process.ts';
import { main, type Platform } from './platform.ts';
import type { Agent } from './tenants.ts';

export type Runner = {
  readonly agent: Agent;
  readonly program: Program;
  /** Ids of the events that the command was given, in that order, each on disk before it was acknowledged. */
  readonly effects: () => string[];
  /** Ids in the runner's own ledger. */
  readonly ledger: () => string[];
};

const linesOf = (file: string): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);

/** A real runner in a process of its own, whose command writes down what it is given. */
export const startRunner = async ({ url, dir }: Pick<Platform, 'url' | 'dir'>, agent: Agent): Promise<Runner> => {
  const home = join(dir, `runner-${agent.id}`);
  const effects = join(home, 'effects');
  mkdirSync(home, { recursive: true });
  const exec = `echo "$ANNALS_EVENT_ID" >> '${effects}' && sync '${effects}'`;
  const { PATH } = process.env;
  const running = program(process.execPath, [main, 'runner', '--agent', agent.slug, '--exec', exec], {
    cwd: home,
    env: { PATH, ANNALS_URL: url, ANNALS_KEY: agent.runnerKey },
  });
  await running.says(/waiting for deliveries/);
  return {
    agent,
    program: running,
    effects: () => linesOf(effects),
    ledger: () => linesOf(join(home, '.annals', 'runner', `${agent.id}.ledger`)),
  };
};
