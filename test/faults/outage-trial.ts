import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadFactor } from '../fixtures/load-factor.ts';
import { watchStalls } from '../fixtures/stalls.ts';
import { check, type Findings, type KillCounts, type LoggedDelivery, withoutRepeatedAnswers } from './checker.ts';
import { readFinalState } from './final-state.ts';
import { type Answer, isAnswered, type Load, type SentDelivery, sign, startLoad } from './load.ts';
import { type Runner, startRunner } from './runners.ts';
import type { KillablePlatform, RunningPlatform } from './running-platform.ts';
import { killAtCommit } from './spool-kills.ts';
import { breakStore, fillDiskOfServe, freeze, type OutageKind, untilDrained, untilReadiness } from './store-outage.ts';
import { createDataset, type Hook } from './tenants.ts';

export type OutageOptions = {
  /** The duration of the outage. */
  readonly seconds: number;
  readonly perSecond: number;
  readonly onProgress?: (line: string) => void;
};

export type OutageReport = { readonly findings: Findings; readonly figures: Readonly<Record<string, number>> };

/** The numbers of tenants, agents per tenant and integrations per agent. Together, they result in ten integrations. */
const SIZE = { tenants: 2, agents: 1, hooks: 5 };
const WARM_UP_MS = 2_000;
const MAX_ANSWER_MS = 900;
const REFUSALS = 50;
const PROCESSED_TIMEOUT_MS = 3_600_000;

export type Deployment<P extends RunningPlatform = KillablePlatform> = {
  readonly platform: P;
  readonly hooks: readonly Hook[];
  readonly runners: readonly Runner[];
};

/** Creates ten integrations, and a runner for each agent that they belong to. `start` starts one runner. */
export const deploy = async <P extends RunningPlatform>(platform: P, start = startRunner): Promise<Deployment<P>> => {
  const { agents, hooks } = await createDataset(platform, SIZE);
  return { platform, hooks, runners: await Promise.all(agents.map((agent) => start(platform, agent))) };
};

/** Waits until the runners have processed `count` events, for at most an hour. @returns the duration in milliseconds */
export const untilProcessed = async ({ runners }: Deployment, count: number): Promise<number> => {
  const startedAt = Date.now();
  const processed = (): number => runners.reduce((sum, { effects }) => sum + effects().length, 0);
  while (processed() < count && Date.now() - startedAt < PROCESSED_TIMEOUT_MS) await sleep(500);
  return Date.now() - startedAt;
};

const answersOf = (sent: readonly SentDelivery[]): Answer[] => sent.flatMap(({ answers }) => answers);

const firstSentAt = ({ answers }: SentDelivery): number => Math.min(...answers.map(({ sentAt }) => sentAt));

/** Returns when a delivery was acknowledged for the first time, on the clock of `performance.now()`. */
const acknowledgedAt = ({ answers }: SentDelivery): number =>
  answers.reduce((first, { kind, sentAt, ms }) => (kind === 'unknown' ? first : Math.min(first, sentAt + ms)), Number.POSITIVE_INFINITY);

/**
 * Returns one error text for each delivery that is too late in the log. A delivery A is too late if it comes after a
 * delivery B of the same integration in the log, although B was sent only after A was acknowledged. The order of
 * deliveries that were sent concurrently is not checked.
 */
const lateInLog = (sent: readonly SentDelivery[], log: readonly LoggedDelivery[]): string[] => {
  const byId = new Map(sent.map((delivery) => [delivery.deliveryId, delivery]));
  return [...Map.groupBy(log, ({ hookId }) => hookId).values()].flatMap((events) => {
    let lastSentAt = 0;
    return events.flatMap(({ deliveryId }) => {
      const delivery = byId.get(deliveryId)!;
      const isLate = acknowledgedAt(delivery) < lastSentAt;
      lastSentAt = Math.max(lastSentAt, firstSentAt(delivery));
      return isLate ? [`delivery ${delivery.number} comes too late in the log of its integration`] : [];
    });
  });
};

const figuresOf = (sent: readonly SentDelivery[]): Record<string, number> => {
  const answers = answersOf(sent);
  const countOf = (kind: Answer['kind']): number => answers.filter((answer) => answer.kind === kind).length;
  return {
    'sent deliveries': sent.length,
    'sent requests': answers.length,
    'acknowledged with 202': countOf('accepted'),
    'acknowledged with 200': countOf('duplicate'),
    'acknowledged with 202 more than once': sent.filter(({ answers: all }) => all.filter(({ kind }) => kind === 'accepted').length > 1)
      .length,
    'unknown (503 or cut off)': countOf('unknown'),
    'answered 503': answers.filter(({ kind, detail }) => kind === 'unknown' && detail === '503').length,
    refused: countOf('refused'),
    'unanswered at the end': sent.filter((one) => !isAnswered(one)).length,
    'slowest answer, ms': Math.round(answers.reduce((max, { ms }) => Math.max(max, ms), 0)),
    'answers after more than 900 ms': answers.filter(({ ms }) => ms > MAX_ANSWER_MS).length,
  };
};

/**
 * Removes the findings about rejected requests in the read model. Needed for trials that also send requests that must
 * be refused.
 */
export const withoutRejectedRows = (findings: Findings): Findings => ({
  ...findings,
  unexpected: findings.unexpected.filter((line) => !line.endsWith('should not be in the read model')),
});

/**
 * Waits until all work is done. Then compares the deliveries that were sent with the log, the read model, the broker
 * and the runners.
 */
export const judge = async (
  { platform, hooks, runners }: Deployment<RunningPlatform>,
  sent: readonly SentDelivery[],
  kills?: KillCounts,
): Promise<OutageReport> => {
  const { finalState, acknowledged } = await readFinalState(platform, sent, hooks, runners);
  const findings = withoutRepeatedAnswers(check(finalState, kills));
  return {
    findings: { ...findings, outOfOrder: [...findings.outOfOrder, ...lateInLog(sent, finalState.log)] },
    figures: {
      ...figuresOf(sent),
      'in the log': finalState.log.length,
      'in the read model': finalState.rows.length,
      'at the runners (effects)': [...finalState.effects.values()].flat().length,
      "in the runners' ledgers": runners.reduce((sum, { processedIds }) => sum + new Set(processedIds()).size, 0),
      'acknowledgements in the log': acknowledged,
    },
  };
};

export const begin = ({ platform, hooks }: Deployment, { seconds, perSecond }: OutageOptions): Load =>
  startLoad({ bases: [platform.url], hooks, perSecond, duplicateRatio: 0.1, maxDeliveries: perSecond * (seconds + 3_600) });

/**
 * Stops or freezes the event store for some time, under load (fault F6). Every delivery must be acknowledged in time.
 * Afterwards, it must reach its runner once and in order.
 */
export const runStoreOutage = async (deployment: Deployment, kind: OutageKind, options: OutageOptions): Promise<OutageReport> => {
  const { platform } = deployment;
  const { onProgress = () => {} } = options;
  const longestStall = watchStalls();
  const load = begin(deployment, options);
  await sleep(WARM_UP_MS);
  const before = load.sent.length;
  const endOutage = breakStore(platform, kind);
  onProgress(`the event store is ${kind} for ${options.seconds} s`);
  await sleep(options.seconds * 1_000);
  endOutage();
  const during = load.sent.length - before;
  const processed = untilProcessed(deployment, load.sent.length);
  const drainMs = await untilDrained(platform);
  onProgress(`the spool is empty ${drainMs} ms after the end of the outage, under load`);
  await sleep(WARM_UP_MS);
  await load.finish();
  const stallMs = longestStall();
  const processedMs = await processed;
  onProgress(`the runners have processed as many deliveries as had been sent ${processedMs} ms after the end of the outage`);
  const { findings, figures } = await judge(deployment, load.sent);
  const times = { 'spool empty after, ms': drainMs, 'delivered after, ms': processedMs, 'longest stall of the sender, ms': stallMs };
  return { findings, figures: { 'sent during the outage': during, ...times, ...figures } };
};

/**
 * Posts deliveries while nothing can be stored. Each must be refused in time, with a valid Retry-After header.
 * @returns one error text for each wrong response
 */
const checkRefusals = async ({ platform, hooks }: Deployment): Promise<string[]> => {
  const wrong: string[] = [];
  const longestStall = watchStalls();
  let slowestMs = 0;
  for (let n = 0; n < REFUSALS; n++) {
    const { path, secret } = hooks[n % hooks.length]!;
    const startedAt = performance.now();
    const headers = { 'content-type': 'application/json', 'x-github-delivery': randomUUID(), 'x-hub-signature-256': sign('{}', secret) };
    const response = await fetch(platform.url + path, { method: 'POST', headers, body: '{}' });
    const text = await response.text();
    const ms = performance.now() - startedAt;
    const delay = Number(response.headers.get('retry-after'));
    slowestMs = Math.max(slowestMs, ms);
    const isRight = response.status === 503 && delay >= 5 && delay <= 60 && text.length < 1_024;
    if (!isRight) wrong.push(`a delivery got ${response.status}, Retry-After ${delay}, ${text.length} characters`);
  }
  const limitMs = MAX_ANSWER_MS * loadFactor() + longestStall();
  if (slowestMs > limitMs) wrong.push(`a delivery got 503 after ${Math.round(slowestMs)} ms, and the limit is ${Math.round(limitMs)} ms`);
  const live = await fetch(`${platform.url}/livez`);
  return live.status === 200 ? wrong : [...wrong, `/livez answers ${live.status}`];
};

/**
 * Kills the process `serve` after it has committed a delivery and before it answers (fault F5). Repeats this `rounds`
 * times. See `killAtCommit`.
 */
export const runKills = async (deployment: Deployment, rounds: number): Promise<OutageReport> => {
  const { platform, hooks } = deployment;
  const { sent, kills, roundsBetween, unansweredOnDisk } = await killAtCommit(platform, hooks, rounds);
  const { findings, figures } = await judge(deployment, sent);
  return {
    findings,
    figures: {
      kills,
      'kills between commit and answer': roundsBetween,
      'on the disk without answer': unansweredOnDisk,
      ...figures,
    },
  };
};

/**
 * Freezes the event store and Postgres (fault F8). In the first half, deliveries must be acknowledged in time, as if
 * only the event store had failed. In the second half, the spool cannot be written either: each delivery must get 503
 * in time, with a valid Retry-After header.
 */
export const runWholeOutage = async (deployment: Deployment, options: OutageOptions): Promise<OutageReport> => {
  const { platform } = deployment;
  const { onProgress = () => {} } = options;
  const load = begin(deployment, options);
  await sleep(WARM_UP_MS);
  const thaw = [freeze(platform, 'store'), freeze(platform, 'postgres')];
  onProgress(`the event store and Postgres are frozen for ${options.seconds} s`);
  await sleep((options.seconds * 1_000) / 2);
  const unknownBefore = answersOf(load.sent).filter(({ kind }) => kind === 'unknown').length;
  const makeRoom = fillDiskOfServe(platform);
  onProgress('the spool cannot be written');
  await untilReadiness(platform, 503);
  await sleep((options.seconds * 1_000) / 2);
  const wrongRefusals = await checkRefusals(deployment);
  const refusals = answersOf(load.sent).filter(({ kind }) => kind === 'unknown');
  makeRoom();
  for (const each of thaw) each();
  await untilDrained(platform);
  await load.finish();
  const { findings, figures } = await judge(deployment, load.sent);
  return {
    findings: { ...findings, unexpected: [...findings.unexpected, ...wrongRefusals] },
    figures: {
      'unknown while the spool worked': unknownBefore,
      'answered 503 while it did not': refusals.length - unknownBefore,
      ...figures,
    },
  };
};
