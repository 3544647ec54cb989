import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OutageReport } from './outage-trial.ts';
import { expectReply, type Platform } from './platform.ts';
import { createDataset } from './tenants.ts';

type Call = { readonly key: string; readonly body: string };

const FIRST_DELAY_MS = 3_000;
/**
 * How long the worker runs between two kills. After more kills than FEW it must run for three seconds, or the supervisor
 * would wait longer and longer before it starts the worker again.
 */
const PAUSE_MS = { shortest: 500, stable: 3_500, random: 3_000 };
const FEW = 10;
const JOBS_PER_SECOND = 5;
const DONE_TIMEOUT_MS = 600_000;
const CONCURRENCY = 8;

/** Starts the external target of all jobs. It answers 500 to every tenth call, so that some calls are repeated. */
export const startCronTarget = async () => {
  const calls: Call[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    calls.push({ key: String(request.headers['idempotency-key']), body });
    response.writeHead(calls.length % 10 === 0 ? 500 : 200).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { calls, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}/`, close: () => void server.close() };
};

export type CronTarget = Awaited<ReturnType<typeof startCronTarget>>;

/** Creates one-shot jobs that are due one after another, `perSecond` in each second. Returns their ids. */
const createJobs = async (platform: Platform, target: CronTarget, count: number, perSecond: number): Promise<string[]> => {
  const { agents } = await createDataset(platform, { tenants: 2, agents: 1, hooks: 0 });
  const start = Date.now() + FIRST_DELAY_MS;
  const ids: string[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) {
      const number = next++;
      const agent = agents[number % agents.length]!;
      const fields = {
        ...{ name: `job ${number}`, kind: 'one_shot', target_kind: 'external_url', target: target.url, retry_backoff: 'fixed' },
        fire_at: new Date(Math.max(Date.now() + FIRST_DELAY_MS, start + (number * 1_000) / perSecond)).toISOString(),
        body_bytes: Buffer.from(`body ${number}`).toString('base64'),
      };
      const path = `/tenant/${agent.tenant.id}/agents/${agent.id}/cron-jobs`;
      ids.push((await expectReply<{ id: string }>(platform.call('POST', path, fields, agent.tenant))).id);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return ids;
};

const DECISIONS = ['CronFired', 'CronSuppressed', 'CronMissed', 'CronOccurrenceSkipped'];

/** The decisions in the log by job, and the ids of the runs whose calls have ended. */
const readRuns = async (platform: Platform) => {
  const log = platform.openLog();
  const decisions = new Map<string, string[]>();
  const fired = new Map<string, string>();
  const ended = new Set<string>();
  for await (const { type, id, data } of log.readAll()) {
    if (type === 'CronSucceeded' || type === 'CronExhausted') ended.add(id);
    if (!DECISIONS.includes(type)) continue;
    const { job_id } = data as { job_id: string };
    decisions.set(job_id, [...(decisions.get(job_id) ?? []), type]);
    if (type === 'CronFired') fired.set(id, job_id);
  }
  await log.close();
  return { decisions, fired, ended };
};

/** The keys that came with more than one body, and the keys that are of no run. */
const wrongCalls = (calls: readonly Call[], fired: ReadonlyMap<string, string>): string[] => {
  const byKey = Map.groupBy(calls, ({ key }) => key);
  return [...byKey].flatMap(([key, ofKey]) => [
    ...(new Set(ofKey.map(({ body }) => body)).size > 1 ? [`the key ${key} came with different bodies`] : []),
    ...(fired.has(key) ? [] : [`the key ${key} is that of no run`]),
  ]);
};

/**
 * F27: the worker is killed `kills` times while cron jobs fire. Each occurrence must have one decision, the target of
 * each run must be called, and all calls of a run must have the same key and body.
 */
export const runCronKills = async (platform: Platform, target: CronTarget, kills: number): Promise<OutageReport> => {
  // A restart takes about two seconds.
  const shortest = kills > FEW ? PAUSE_MS.stable : PAUSE_MS.shortest;
  const seconds = (kills * (2_000 + shortest + PAUSE_MS.random / 2)) / 1_000;
  const ids = await createJobs(platform, target, Math.max(40, Math.ceil(seconds * JOBS_PER_SECOND)), JOBS_PER_SECOND);
  for (let count = 0; count < kills; count++) {
    await platform.kill('work');
    await sleep(shortest + PAUSE_MS.random * Math.random());
  }
  let runs = await readRuns(platform);
  const isDone = (): boolean => runs.decisions.size >= ids.length && [...runs.fired.keys()].every((id) => runs.ended.has(id));
  for (const end = Date.now() + DONE_TIMEOUT_MS; !isDone() && Date.now() < end; runs = await readRuns(platform)) await sleep(1_000);
  const { decisions, fired, ended } = runs;
  const called = new Set(target.calls.map(({ key }) => key));
  return {
    findings: {
      lost: [
        ...ids.filter((id) => !decisions.has(id)).map((id) => `the occurrence of job ${id} has no decision`),
        ...[...fired.keys()].filter((id) => !called.has(id) || !ended.has(id)).map((id) => `the target of run ${id} was not called`),
      ],
      duplicated: [...decisions].filter(([, all]) => all.length > 1).map(([id, all]) => `job ${id} has the decisions ${all.join(', ')}`),
      unexpected: wrongCalls(target.calls, fired),
      outOfOrder: [],
    },
    figures: {
      'kills of the worker': kills,
      'jobs that were due once': ids.length,
      'decisions in the log': [...decisions.values()].flat().length,
      'decisions to fire': fired.size,
      'calls of the target': target.calls.length,
      'keys at the target': called.size,
      'repeated calls': target.calls.length - called.size,
    },
  };
};

/** Runs F27 on a platform that may call a target on this machine. */
export const withCronTarget = async (use: (target: CronTarget, variables: NodeJS.ProcessEnv) => Promise<void>): Promise<void> => {
  const target = await startCronTarget();
  try {
    await use(target, { EGRESS_ALLOW: target.host });
  } finally {
    target.close();
  }
};
