import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { counted } from '../../../domain/counted.ts';
import type { Config } from '../../config.ts';
import { printLine } from '../../logging/print-line.ts';
import { printError } from '../../processes/exit.ts';
import { entryPoint } from '../../program.ts';
import { type DemoPlatform, openDemoPlatform } from './demo-platform.ts';
import { type Answer, type Delivery, deliver, exampleDeliveries, mapConcurrently } from './github.ts';
import { type Client, client, eventually } from './rest-client.ts';

const CONCURRENCY = 8;
const DELIVERY_TIMEOUT_MS = 60_000;
const SETTLE_MS = 1_000;
/** The exit code that a shell reports after Ctrl-C. */
const EXIT_INTERRUPTED = 130;

type Setup = { tenant: string; slug: string; agent: string; integration: string; secret: string; runnerKey: string };

const tenantOf = async (api: Client): Promise<string> => {
  const { tenants } = await api.get<{ tenants: { id: string }[] }>('/me');
  const [tenant] = tenants.length > 0 ? tenants : await api.get<{ id: string }[]>('/admin/tenants?limit=1');
  if (!tenant) throw new Error('the API key has access to no tenant');
  return tenant.id;
};

/** The path of each resource is added to `created` at once, so that it can be deleted even if the next step fails. */
const createSetup = async (api: Client, tenant: string, created: string[]): Promise<Setup> => {
  const slug = `demo-${randomUUID().slice(0, 8)}`;
  const agent = await api.post<{ id: string }>(`/tenant/${tenant}/agents`, { name: 'Demo', slug });
  created.push(`/tenant/${tenant}/agents/${agent.id}`);
  const integration = await api.post<{ id: string; secret: string }>(`/tenant/${tenant}/webhook-integrations`, {
    provider: 'github',
    agent_id: agent.id,
    label: `Demo ${slug}`,
  });
  created.push(`/tenant/${tenant}/webhook-integrations/${integration.id}`);
  const runnerKeys = `/tenant/${tenant}/agents/${agent.id}/runner-keys`;
  const { key, id } = await api.post<{ key: string; id: string }>(runnerKeys, { name: 'Demo runner' });
  created.push(`${runnerKeys}/${id}`);
  return { tenant, slug, agent: agent.id, integration: integration.id, secret: integration.secret, runnerKey: key };
};

/** Starts a runner as a user would. The runner's command records each event that it receives. */
const startRunner = ({ url, dir }: DemoPlatform, { slug, runnerKey }: Setup): ChildProcess => {
  const exec = `(cat; echo) >> '${join(dir, 'events')}' && echo "$ANNALS_EVENT_ID" >> '${join(dir, 'delivered')}'`;
  const args = [entryPoint('infra/main.ts'), 'runner', '--agent', slug, '--exec', exec];
  const env = { ...process.env, ANNALS_URL: url, ANNALS_KEY: runnerKey, ANNALS_DATA: dir };
  return spawn(process.execPath, args, { cwd: dir, env, stdio: ['ignore', 'inherit', 'inherit'] });
};

const stopRunner = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve(child.exitCode);
    child.once('exit', resolve);
    child.kill('SIGTERM');
  });

const linesOf = (file: string): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);

const count = <T>(items: readonly T[], matches: (item: T) => boolean): number => items.filter(matches).length;

type Sent = { posts: number; retried: number; accepted: number; redelivered: number; rejected: number; others: number };

/** A delivery can be recorded although its response was 503; posting it again then gets 200. */
const isAccepted = ({ status, posts }: Answer): boolean => status === 202 || (status === 200 && posts > 1);

/** Posts all deliveries once, every third again, and every tenth with another id and a forged signature. */
const send = async (hook: string, secret: string, deliveries: readonly Delivery[]): Promise<Sent> => {
  const again = deliveries.filter((_, index) => index % 3 === 0);
  const forged = deliveries.filter((_, index) => index % 10 === 0).map((delivery) => ({ ...delivery, id: randomUUID() }));
  const first = await mapConcurrently(deliveries, CONCURRENCY, (delivery) => deliver(hook, secret, delivery));
  const second = await mapConcurrently(again, CONCURRENCY, (delivery) => deliver(hook, secret, delivery));
  const third = await mapConcurrently(forged, CONCURRENCY, (delivery) => deliver(hook, `${secret}x`, delivery));
  const answers = [...first, ...second, ...third];
  const posts = answers.reduce((sum, answer) => sum + answer.posts, 0);
  const accepted = count(first, isAccepted);
  const redelivered = count(second, ({ status }) => status === 200);
  const rejected = count(third, ({ status }) => status === 401);
  const others = answers.length - accepted - redelivered - rejected;
  return { posts, retried: posts - answers.length, accepted, redelivered, rejected, others };
};

type Observed = { listed: number; delivered: number; distinct: number; unchanged: number };

/** Waits until all deliveries are listed and all events recorded. */
const observe = async (api: Client, platform: DemoPlatform, setup: Setup, deliveries: readonly Delivery[]): Promise<Observed> => {
  const path = `/tenant/${setup.tenant}/webhook-integrations/${setup.integration}/deliveries?outcome=accepted&limit=200`;
  await eventually(
    () => linesOf(join(platform.dir, 'delivered')),
    (found) => found.length >= deliveries.length,
    DELIVERY_TIMEOUT_MS,
  );
  const listed = await eventually(
    () => api.all<{ id: string }>(path),
    (found) => found.length >= deliveries.length,
    DELIVERY_TIMEOUT_MS,
  );
  // An event that is wrongly run twice may arrive late, so this waits a little longer before it counts.
  await sleep(SETTLE_MS);
  const ids = linesOf(join(platform.dir, 'delivered'));
  const bodies = new Map(deliveries.map(({ id, body }) => [id, body]));
  const asSent = (line: string): boolean =>
    line.endsWith(`,"data":${bodies.get((JSON.parse(line) as { providerid: string }).providerid)}}`);
  const unchanged = count(linesOf(join(platform.dir, 'events')), asSent);
  return { listed: listed.length, delivered: ids.length, distinct: new Set(ids).size, unchanged };
};

const table = (rows: readonly (readonly [string, number, string])[]): string[] =>
  rows.map(([name, number, meaning]) => `  ${name.padEnd(12)}${String(number).padStart(6)}  ${meaning}`);

const report = (total: number, sent: Sent, observed: Observed): number => {
  const rows = table([
    ['sent', sent.posts, `posts: ${counted(total, 'payload')}, every third one again, every tenth one forged`],
    ...(sent.retried > 0 ? [['retried', sent.retried, 'of them after a 503 response: the service was busy'] as const] : []),
    ['accepted', sent.accepted, 'answered 202: an event in the log'],
    ['redelivered', sent.redelivered, 'answered 200: a redelivery, nothing was appended'],
    ['rejected', sent.rejected, 'answered 401: the signature is wrong'],
    ['listed', observed.listed, 'accepted deliveries that the list of deliveries shows'],
    [
      'delivered',
      observed.delivered,
      `runs of the command: ${counted(observed.distinct, 'different event')}, ${counted(observed.unchanged, 'body')} exactly as sent`,
    ],
  ]);
  const wanted = [sent.accepted, observed.listed, observed.delivered, observed.distinct, observed.unchanged];
  const agree = sent.others === 0 && wanted.every((number) => number === total);
  const verdict = agree ? 'The numbers agree: every delivery was accepted once and run once.' : 'THE NUMBERS DO NOT AGREE.';
  for (const line of ['', ...rows, '', verdict]) printLine(line);
  return agree ? 0 : 1;
};

/** What the demo removes at its end. More can be added to `created` while `setup` is pending. */
type Traces = { readonly runners: ChildProcess[]; readonly created: string[]; setup?: Promise<Setup> };

const runDemo = async (platform: DemoPlatform, traces: Traces): Promise<number> => {
  const api = client(platform.url, platform.key);
  const tenant = platform.tenant ?? (await tenantOf(api));
  const afterwards = platform.isOwn ? '' : `, tenant ${tenant}; the agent and the integration that it creates there are deleted at the end`;
  printError(`the demo uses ${platform.isOwn ? 'its own platform, ' : ''}${platform.url}${afterwards}`);
  traces.setup = createSetup(api, tenant, traces.created);
  const setup = await traces.setup;
  traces.runners.push(startRunner(platform, setup));
  const deliveries = exampleDeliveries();
  const hook = `${platform.url}/hooks/inbound/${setup.integration}`;
  printError(`posting ${counted(deliveries.length, 'example payload')} of GitHub to ${hook}`);
  const sent = await send(hook, setup.secret, deliveries);
  return report(deliveries.length, sent, await observe(api, platform, setup, deliveries));
};

/** Deletes the newest resource first; none if the whole platform is removed anyway. */
const removeTraces = async ({ url, key, isOwn }: DemoPlatform, { runners, created, setup }: Traces): Promise<void> => {
  await Promise.all(runners.map(stopRunner));
  if (isOwn) return;
  await setup?.catch(() => {});
  const { remove } = client(url, key);
  for (const path of created.reverse())
    await remove(path).catch((error: Error) => printError(`not deleted, delete it yourself: ${path} (${error.message})`));
};

/** Posts deliveries like a provider, lets a runner run a command for each, and checks the counts. Returns the exit code. */
export const demo = async (config: Config, on: string | undefined): Promise<number> => {
  const stop = new AbortController();
  const interrupted = new Promise<number>((resolve) =>
    stop.signal.addEventListener('abort', () => resolve(EXIT_INTERRUPTED), { once: true }),
  );
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());
  const traces: Traces = { runners: [], created: [] };
  let platform: DemoPlatform | undefined;
  try {
    platform = await openDemoPlatform(config, { on, report: printError, stopped: stop.signal });
    return await Promise.race([runDemo(platform, traces), interrupted]);
  } catch (error) {
    if (stop.signal.aborted) return EXIT_INTERRUPTED;
    throw error;
  } finally {
    if (platform) await removeTraces(platform, traces);
    await platform?.close();
  }
};
