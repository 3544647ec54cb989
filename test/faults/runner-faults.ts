import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nanos } from 'nats';
import { consumerName, STREAM } from '../../domain/runners/runner-credential.ts';
import { RetryLater } from '../../infra/runner/runner-client.ts';
import { bareEnvironment, eventually, root, startProgram } from '../fixtures/child-process.ts';
import { startClientRunner } from './client-runner.ts';
import { type Load, startLoad } from './load.ts';
import { judge, type OutageReport } from './outage-trial.ts';
import type { Runner } from './runners.ts';
import type { KillablePlatform, RunningPlatform } from './running-platform.ts';
import { type Agent, createDataset, type Dataset } from './tenants.ts';

const PROGRAM = join(root, 'test', 'faults', 'dying-runner.ts');
const KILLS_TIMEOUT_MS = 3_600_000;

const readLines = (file: string): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);

type DyingRunner = Runner & { readonly kills: () => number };

/** Starts a runner that kills itself after an effect. Starts it again each time, until it has died `kills` times. */
const startDyingRunner = async ({ url, dir, stopOnClose }: KillablePlatform, agent: Agent, kills: number): Promise<DyingRunner> => {
  const home = join(dir, `runner-${agent.id}`);
  mkdirSync(home, { recursive: true });
  const env = { ...bareEnvironment(), ANNALS_URL: url, ANNALS_KEY: agent.runnerKey, RUNNER_HOME: home, KILLS: String(kills) };
  let isStopped = false;
  let stop = (): Promise<unknown> => Promise.resolve();
  let output = (): string => '';
  const start = async (): Promise<void> => {
    const program = startProgram(process.execPath, [PROGRAM], { cwd: home, env });
    stopOnClose(program);
    stop = () => program.stop();
    output = program.output;
    void program.ended.then(() => (isStopped ? undefined : start()));
  };
  await start();
  const runner: DyingRunner = {
    agent,
    effects: () => readLines(join(home, 'effects')),
    commandRuns: () => readLines(join(home, 'runs')),
    processedIds: () => readLines(join(home, 'ledgers', `${agent.id}.ledger`)),
    lines: () => output().split('\n').slice(0, -1),
    kills: () => readLines(join(home, 'kills')).length,
    kill: async () => 0,
    stop: () => {
      isStopped = true;
      return stop();
    },
    start: async () => runner,
  };
  return runner;
};

const sendAll = async (platform: KillablePlatform, { hooks }: Pick<Dataset, 'hooks'>, perSecond: number, count: number): Promise<Load> => {
  const load = startLoad({ bases: [platform.url], hooks, perSecond, duplicateRatio: 0.1, maxDeliveries: count });
  await load.allSent;
  await load.finish();
  return load;
};

/**
 * Starts runners that die `kills` times in total, between the effect of a delivery and its acknowledgement (fault F14).
 * The broker sends these deliveries again. They must have no second effect.
 */
export const runRunnerKills = async (platform: KillablePlatform, kills: number): Promise<OutageReport> => {
  const agentsPerTenant = kills > 20 ? 4 : 1;
  const { agents, hooks } = await createDataset(platform, { tenants: 2, agents: agentsPerTenant, hooks: 1 });
  const killsOfEach = Math.ceil(kills / agents.length);
  const runners = await Promise.all(agents.map((agent) => startDyingRunner(platform, agent, killsOfEach)));
  const { sent } = await sendAll(platform, { hooks }, 20, agents.length * (killsOfEach + 5));
  const end = Date.now() + KILLS_TIMEOUT_MS;
  while (runners.some((runner) => runner.kills() < killsOfEach) && Date.now() < end) await sleep(200);
  const deaths = runners.reduce((sum, runner) => sum + runner.kills(), 0);
  const { findings, figures } = await judge({ platform, hooks, runners }, sent, { brokerKills: 0, runnerKills: deaths });
  const runs = runners.flatMap(({ commandRuns }) => commandRuns()).length;
  await Promise.all(runners.map((runner) => runner.stop()));
  return { findings, figures: { 'kills after the effect': deaths, 'runs of the handler': runs, ...figures } };
};

export type BadRunnerOptions = {
  /** The number of deliveries that each agent gets. */
  readonly count: number;
  /** The time that the slow runner takes for one delivery. */
  readonly slowMs: number;
  /**
   * The broker sends an unanswered message again after this many milliseconds, and gives it up after 5 minutes. If
   * absent, the platform's own settings are used.
   */
  readonly ackWaitMs?: number;
};

export const setAckWait = async (platform: RunningPlatform, agent: Agent, ackWaitMs: number): Promise<void> => {
  const nats = await platform.connectNats();
  const { consumers } = await nats.jetstreamManager();
  // Repeat this until it succeeds: the consumer is created when the runner requests credentials for the first time.
  await eventually('the consumer exists', () =>
    consumers.update(STREAM, consumerName(agent.id), { ack_wait: nanos(ackWaitMs) }).then(
      () => true,
      () => false,
    ),
  );
  await nats.close();
};

type Settled = { readonly dead: ReadonlyMap<string, number>; readonly acknowledged: ReadonlyMap<string, number> };

/** Counts the deliveries of each agent that were given up and those that were acknowledged, in the log. */
const settledByAgent = async (platform: KillablePlatform): Promise<Settled> => {
  const log = platform.openLog();
  const [dead, acknowledged] = [new Map<string, number>(), new Map<string, number>()];
  const add = (counts: Map<string, number>, agent: string, count: number): void => void counts.set(agent, (counts.get(agent) ?? 0) + count);
  for await (const { type, id, data } of log.readAll()) {
    if (type === 'DeliveryDeadLettered') add(dead, id, 1);
    if (type === 'DeliveriesAcknowledged') add(acknowledged, id, (data as { deliveries: unknown[] }).deliveries.length);
  }
  await log.close();
  return { dead, acknowledged };
};

/**
 * Runs four runners (fault F15): one is slow, one never answers, one sends negative acknowledgements, and one works
 * normally. The slow runner must get each of its deliveries once. The deliveries of the second and third runner must be
 * given up after ten attempts. The normal runner must not be delayed.
 */
export const runBadRunners = async (
  platform: KillablePlatform,
  { count, slowMs, ackWaitMs }: BadRunnerOptions,
): Promise<OutageReport & { readonly seconds: number }> => {
  const { agents, hooks } = await createDataset(platform, { tenants: 2, agents: 2, hooks: 1 });
  const [slow, silent, refusing, working] = agents as [Agent, Agent, Agent, Agent];
  const startedAt = Date.now();
  const isStopping = new AbortController();
  const never = new Promise<void>((resolve) => isStopping.signal.addEventListener('abort', () => resolve()));
  const runners = await Promise.all([
    startClientRunner(platform, slow, { before: () => sleep(slowMs), progressMs: ackWaitMs && ackWaitMs / 4 }),
    // The silent runner requests more messages than there are attempts in total, because the broker gives up a message
    // only when a runner requests another one.
    startClientRunner(platform, silent, { before: () => never, concurrency: 10 * count + 1, progressMs: KILLS_TIMEOUT_MS }),
    startClientRunner(platform, refusing, {
      before: () => Promise.reject(new RetryLater(ackWaitMs ?? 30_000)),
    }),
    startClientRunner(platform, working),
  ]);
  if (ackWaitMs !== undefined) for (const agent of agents) await setAckWait(platform, agent, ackWaitMs);
  const load = startLoad({ bases: [platform.url], hooks, perSecond: 10, duplicateRatio: 0, maxDeliveries: 4 * count });
  await load.allSent;
  await load.finish();
  const { sent } = load;
  const sentAt = Date.now();
  const [slowRunner, , , workingRunner] = runners as [Runner, Runner, Runner, Runner];
  await eventually('the working runner has its deliveries', async () => workingRunner.effects().length === count);
  const workingMs = Date.now() - sentAt;
  let settled = await settledByAgent(platform);
  const givenUp = (): number => (settled.dead.get(silent.id) ?? 0) + (settled.dead.get(refusing.id) ?? 0);
  const isDone = (): boolean => givenUp() >= 2 * count && (settled.acknowledged.get(slow.id) ?? 0) >= count;
  const end = Date.now() + KILLS_TIMEOUT_MS;
  while (!isDone() && Date.now() < end) {
    await sleep(1_000);
    settled = await settledByAgent(platform);
  }
  isStopping.abort();
  const repeated = slowRunner.commandRuns().length - new Set(slowRunner.commandRuns()).size;
  const attempts = runners.map(({ commandRuns }) => commandRuns().length);
  await Promise.all(runners.map((runner) => runner.stop()));
  const wrong = [
    ...(repeated > 0 ? [`the slow runner got ${repeated} deliveries again while it worked on them`] : []),
    ...(givenUp() === 2 * count ? [] : [`${givenUp()} deliveries were given up instead of ${2 * count}`]),
    ...(attempts[2] === 10 * count ? [] : [`the refusing runner had ${attempts[2]} attempts instead of ${10 * count}`]),
    ...(slowRunner.effects().length === count ? [] : [`the slow runner processed ${slowRunner.effects().length} of ${count}`]),
  ];
  return {
    seconds: (Date.now() - startedAt) / 1_000,
    findings: { lost: [], duplicated: [], outOfOrder: [], unexpected: wrong },
    figures: {
      'sent deliveries': sent.length,
      'acknowledged with 202': sent.filter(({ answers }) => answers[0]?.kind === 'accepted').length,
      unknown: sent.filter(({ answers }) => answers[0]?.kind === 'unknown').length,
      refused: sent.filter(({ answers }) => answers[0]?.kind === 'refused').length,
      'given up in the log': givenUp(),
      'attempts of the silent runner': attempts[1]!,
      'attempts of the refusing runner': attempts[2]!,
      'processed by the slow runner': slowRunner.effects().length,
      'processed by the working runner': workingRunner.effects().length,
      "in the runners' ledgers": runners.reduce((sum, { processedIds }) => sum + new Set(processedIds()).size, 0),
      'working runner is done after, ms': workingMs,
      'all are given up after, ms': Date.now() - sentAt,
    },
  };
};
