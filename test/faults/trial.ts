import { setTimeout as sleep } from 'node:timers/promises';
import { check, type Findings, withoutRepeatedAnswers } from './checker.ts';
import { startClientRunner } from './client-runner.ts';
import { readFinalState } from './final-state.ts';
import { isAnswered, type Load, type SentDelivery, startLoad } from './load.ts';
import { PROCESS_NAMES } from './platform-processes.ts';
import { type Runner, startRunner } from './runners.ts';
import type { KillablePlatform } from './running-platform.ts';
import { createDataset, type DatasetSize } from './tenants.ts';

/** The processes that are killed: those of the platform, and runners. */
export const TARGETS = [...PROCESS_NAMES, 'runner'] as const;
export type Target = (typeof TARGETS)[number];

export type TrialOptions = {
  /** The number of times that each target is killed. */
  kills: number;
  targets?: readonly Target[];
  perSecond?: number;
  size?: DatasetSize;
  onProgress?: (line: string) => void;
};

export type Kill = { readonly target: Target; readonly recoveryMs: number };

export type Report = {
  readonly findings: Findings;
  readonly kills: readonly Kill[];
  readonly figures: Readonly<Record<string, number>>;
};

const SIZE: DatasetSize = { tenants: 2, agents: 2, hooks: 2 };
const WARM_UP_MS = 1_500;
const MIN_PAUSE_MS = 300;
const MAX_PAUSE_MS = 1_700;
/** The load ends after this many deliveries, even if the trial does not end it. */
const MAX_DELIVERIES = 30_000;

const shuffled = <T>(items: readonly T[]): T[] =>
  items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);

const pause = (): Promise<void> => sleep(MIN_PAUSE_MS + Math.random() * (MAX_PAUSE_MS - MIN_PAUSE_MS));

type Deployment = { readonly platform: KillablePlatform; readonly runners: readonly Runner[] };

const killOne = ({ platform, runners }: Deployment, target: Target): Promise<number> =>
  target === 'runner' ? shuffled(runners)[0]!.kill() : platform.kill(target);

/**
 * Kills each target `kills` times, in random order. After each kill, waits until the successor was started, but not
 * until it is ready.
 */
const killAll = async (deployment: Deployment, { kills, targets = TARGETS, onProgress = () => {} }: TrialOptions): Promise<Kill[]> => {
  const completed: Kill[] = [];
  for (let round = 1; round <= kills; round++)
    for (const target of shuffled(targets)) {
      const recoveryMs = await killOne(deployment, target);
      completed.push({ target, recoveryMs });
      onProgress(`round ${round}: ${target} was killed, its successor started after ${recoveryMs} ms`);
      await pause();
    }
  return completed;
};

/**
 * Returns the longest time between two accepted deliveries in milliseconds. Deliveries are sent during the whole trial.
 */
const longestGap = (times: readonly number[]): number =>
  times.slice(1).reduce((longest, at, index) => Math.max(longest, at - times[index]!), 0);

const answersOf = (sent: readonly SentDelivery[]) => sent.flatMap(({ answers }) => answers);

const slowest = (sent: readonly SentDelivery[], kinds: readonly string[]): number =>
  Math.round(answersOf(sent).reduce((max, { kind, ms }) => (kinds.includes(kind) ? Math.max(max, ms) : max), 0));

const figuresOf = ({ sent, acceptedAt }: Load, seconds: number): Record<string, number> => {
  const answers = answersOf(sent);
  const countOf = (kind: string): number => answers.filter((answer) => answer.kind === kind).length;
  const firstUnknown = sent.filter(({ answers: [first] }) => first?.kind === 'unknown');
  return {
    'load, seconds': Math.round(seconds),
    deliveries: sent.length,
    posts: answers.length,
    'answered 202': countOf('accepted'),
    'answered 200': countOf('duplicate'),
    'answered 503 or cut off': countOf('unknown'),
    refused: countOf('refused'),
    'first post unknown': firstUnknown.length,
    'unknown that had been recorded': firstUnknown.filter(
      ({ answers: all }) => !all.some(({ kind }) => kind === 'accepted') && all.some(({ kind }) => kind === 'duplicate'),
    ).length,
    'unknown at the end': sent.filter((one) => !isAnswered(one)).length,
    'longest time without an acceptance, ms': longestGap(acceptedAt),
    'slowest 202 or 200, ms': slowest(sent, ['accepted', 'duplicate']),
    'slowest 503 or cut off, ms': slowest(sent, ['unknown']),
  };
};

/** What the runners have printed says why they processed an event late. */
const linesOf = (runners: readonly Runner[]): string[] =>
  runners.flatMap(({ agent, lines }) => lines().map((line) => `the runner of ${agent.id} printed: ${line}`));

/**
 * Puts a platform under load and kills its processes one after another. Then waits until all work is done and checks
 * the final state.
 */
export const runTrial = async (platform: KillablePlatform, options: TrialOptions): Promise<Report> => {
  const { targets = TARGETS, perSecond = 50, size = SIZE, onProgress = () => {} } = options;
  const { agents, hooks } = await createDataset(platform, size);
  // Only a runner in its own process can be killed.
  const start = targets.includes('runner') ? startRunner : startClientRunner;
  const runners = await Promise.all(agents.map((agent) => start(platform, agent)));
  const startedAt = Date.now();
  const load = startLoad({ bases: [platform.url], hooks, perSecond, duplicateRatio: 0.1, maxDeliveries: MAX_DELIVERIES });
  await sleep(WARM_UP_MS);
  const kills = await killAll({ platform, runners }, options);
  await sleep(WARM_UP_MS);
  await load.finish();
  const seconds = (Date.now() - startedAt) / 1_000;
  onProgress(`the load is over after ${Math.round(seconds)} s; waiting until no work is left`);
  const { finalState, acknowledged } = await readFinalState(platform, load.sent, hooks, runners);
  const killsOf = (name: Target): number => kills.filter(({ target }) => target === name).length;
  const found = check(finalState, { brokerKills: killsOf('nats'), runnerKills: killsOf('runner') });
  const findings = killsOf('store') > 0 ? withoutRepeatedAnswers(found) : found;
  return {
    findings: found.outOfOrder.length > 0 ? { ...findings, outOfOrder: [...found.outOfOrder, ...linesOf(runners)] } : findings,
    kills,
    figures: {
      ...figuresOf(load, seconds),
      'events in the log': finalState.log.length,
      'rows in the read model': finalState.rows.length,
      'messages in the stream': finalState.messages.length,
      'command runs': finalState.commandRuns.length,
      'effects of commands': [...finalState.effects.values()].flat().length,
      'processed ids of runners': runners.reduce((sum, { processedIds }) => sum + new Set(processedIds()).size, 0),
      'acknowledgements in the log': acknowledged,
      'drain, seconds': Math.round((Date.now() - startedAt) / 1_000 - seconds),
    },
  };
};
