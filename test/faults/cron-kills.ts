import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OutageReport } from './outage-trial.ts';
import { expectReply, type KillablePlatform } from './running-platform.ts';
import { createDataset } from './tenants.ts';

type Call = { readonly key: string; readonly body: string };

const FIRST_DELAY_MS = 3_000;
/**
 * The time between two kills of the worker in milliseconds: `shortest` or `stable`, plus a random part of up to
 * `random`. `stable` is used if there are more than `FEW` kills, because the supervisor restarts a worker that runs for
 * less than three seconds with growing delays.
 */
const PAUSE_MS = { shortest: 500, stable: 3_500, random: 3_000 };
const FEW = 10;
const JOBS_PER_SECOND = 5;
const DONE_TIMEOUT_MS = 600_000;
const CONCURRENCY = 8;

/**
 * Starts an HTTP server at a port as the external target of all jobs; 0 is any free port. It answers every tenth call with 500, so that the platform
 * repeats some calls.
 */
const startCronTarget = async (at: number) => {
  const calls: Call[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    calls.push({ key: String(request.headers['idempotency-key']), body });
    response.writeHead(calls.length % 10 === 0 ? 500 : 200).end();
  });
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { calls, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}/`, close: () => void server.close() };
};

type CronTarget = Awaited<ReturnType<typeof startCronTarget>>;

/** Creates `count` one-shot jobs. In each second, `perSecond` of them are due. @returns their ids */
const createJobs = async (platform: KillablePlatform, target: CronTarget, count: number, perSecond: number): Promise<string[]> => {
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

/**
 * Reads the decisions on the cron jobs with these ids from the log. @returns the types of the decisions for each occurrence of a job, the
 * job id of each run that was fired, and the ids of the runs whose calls have ended
 */
const readRuns = async (platform: KillablePlatform, ids: readonly string[]) => {
  const log = platform.openLog();
  const decisions = new Map<string, string[]>();
  const fired = new Map<string, string>();
  const ended = new Set<string>();
  for await (const { type, id, data } of log.readAll()) {
    if (type === 'CronSucceeded' || type === 'CronExhausted') ended.add(id);
    if (!DECISIONS.includes(type)) continue;
    const { job_id } = data as { job_id: string };
    if (!ids.includes(job_id)) continue;
    decisions.set(job_id, [...(decisions.get(job_id) ?? []), type]);
    if (type === 'CronFired') fired.set(id, job_id);
  }
  await log.close();
  return { decisions, fired, ended };
};

/**
 * Returns a message for each idempotency key that was sent with different bodies, and for each key that belongs to no
 * run.
 */
const wrongCalls = (calls: readonly Call[], fired: ReadonlyMap<string, string>): string[] => {
  const byKey = Map.groupBy(calls, ({ key }) => key);
  return [...byKey].flatMap(([key, ofKey]) => [
    ...(new Set(ofKey.map(({ body }) => body)).size > 1 ? [`the key ${key} came with different bodies`] : []),
    ...(fired.has(key) ? [] : [`the key ${key} is that of no run`]),
  ]);
};

/**
 * Kills the worker `kills` times while cron jobs fire (fault F27). There must be exactly one decision for each
 * occurrence, the target of each run must be called, and all calls of a run must have the same idempotency key and the
 * same body.
 */
export const runCronKills = async (platform: KillablePlatform, target: CronTarget, kills: number): Promise<OutageReport> => {
  // A restart of the worker takes about two seconds.
  const shortest = kills > FEW ? PAUSE_MS.stable : PAUSE_MS.shortest;
  const seconds = (kills * (2_000 + shortest + PAUSE_MS.random / 2)) / 1_000;
  const ids = await createJobs(platform, target, Math.max(40, Math.ceil(seconds * JOBS_PER_SECOND)), JOBS_PER_SECOND);
  for (let count = 0; count < kills; count++) {
    await platform.kill('work');
    await sleep(shortest + PAUSE_MS.random * Math.random());
  }
  let runs = await readRuns(platform, ids);
  const isDone = (): boolean => runs.decisions.size >= ids.length && [...runs.fired.keys()].every((id) => runs.ended.has(id));
  for (const end = Date.now() + DONE_TIMEOUT_MS; !isDone() && Date.now() < end; runs = await readRuns(platform, ids)) await sleep(1_000);
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

/**
 * Starts a target for cron jobs at a port; 0 is any free port. Calls `use` with the target and the environment variables
 * that allow the platform to call it.
 */
export const withCronTarget = async (use: (target: CronTarget, variables: NodeJS.ProcessEnv) => Promise<void>, port = 0): Promise<void> => {
  const target = await startCronTarget(port);
  try {
    await use(target, { EGRESS_ALLOW: target.host });
  } finally {
    target.close();
  }
};
