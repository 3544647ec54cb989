import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import { openPlace, type Place } from './demo-platform.ts';
import { type Answer, type Delivery, deliver, exampleDeliveries, together } from './github.ts';
import { type Client, client, eventually } from './rest-client.ts';

const WIDTH = 8;
const DELIVERY_TIMEOUT_MS = 60_000;
const SETTLE_MS = 1_000;
/** How a shell names the end by Ctrl-C. */
const INTERRUPTED = 130;

const say = (line: string): void => void process.stderr.write(`annals: ${line}\n`);
const print = (line: string): void => void process.stdout.write(`${line}\n`);

type Made = { tenant: string; slug: string; agent: string; integration: string; secret: string; runnerKey: string };

const tenantOf = async (api: Client): Promise<string> => {
  const { tenants } = await api.get<{ tenants: { id: string }[] }>('/me');
  const [tenant] = tenants.length > 0 ? tenants : await api.get<{ id: string }[]>('/admin/tenants?limit=1');
  if (!tenant) throw new Error('the key sees no tenant');
  return tenant.id;
};

/** An agent, the integration that feeds it and the key of its runner, each over REST. */
const make = async (api: Client, known: string | null): Promise<Made> => {
  const tenant = known ?? (await tenantOf(api));
  const slug = `demo-${randomUUID().slice(0, 8)}`;
  const agent = await api.post<{ id: string }>(`/tenant/${tenant}/agents`, { name: 'Demo', slug });
  const integration = await api.post<{ id: string; secret: string }>(`/tenant/${tenant}/webhook-integrations`, {
    provider: 'github',
    agent_id: agent.id,
    label: `Demo ${slug}`,
  });
  const { key } = await api.post<{ key: string }>(`/tenant/${tenant}/agents/${agent.id}/runner-keys`, { name: 'Demo runner' });
  return { tenant, slug, agent: agent.id, integration: integration.id, secret: integration.secret, runnerKey: key };
};

/** The runner as anybody starts it; its command writes down what it is given. */
const startRunner = ({ url, dir }: Place, { slug, runnerKey }: Made): ChildProcess => {
  const exec = `(cat; echo) >> '${join(dir, 'events')}' && echo "$ANNALS_EVENT_ID" >> '${join(dir, 'delivered')}'`;
  const args = [join(import.meta.dirname, '../../main.ts'), 'runner', '--agent', slug, '--exec', exec];
  const env = { ...process.env, ANNALS_URL: url, ANNALS_KEY: runnerKey, ANNALS_DATA: dir };
  return spawn(process.execPath, args, { cwd: dir, env, stdio: ['ignore', 'inherit', 'inherit'] });
};

const stopped = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve(child.exitCode);
    child.once('exit', resolve);
    child.kill('SIGTERM');
  });

const linesOf = (file: string): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);

const count = <T>(items: readonly T[], holds: (item: T) => boolean): number => items.filter(holds).length;

type Sent = { posts: number; retried: number; accepted: number; redelivered: number; rejected: number; others: number };

/** An append may have succeeded though its answer came too late: then the retry is the one that was seen before. */
const isAccepted = ({ status, posts }: Answer): boolean => status === 202 || (status === 200 && posts > 1);

/** Sends everything, then a third of it again, and every tenth forged. */
const send = async (hook: string, secret: string, deliveries: readonly Delivery[]): Promise<Sent> => {
  const again = deliveries.filter((_, index) => index % 3 === 0);
  const forged = deliveries.filter((_, index) => index % 10 === 0).map((delivery) => ({ ...delivery, id: randomUUID() }));
  const first = await together(deliveries, WIDTH, (delivery) => deliver(hook, secret, delivery));
  const second = await together(again, WIDTH, (delivery) => deliver(hook, secret, delivery));
  const third = await together(forged, WIDTH, (delivery) => deliver(hook, `${secret}x`, delivery));
  const answers = [...first, ...second, ...third];
  const posts = answers.reduce((sum, answer) => sum + answer.posts, 0);
  const accepted = count(first, isAccepted);
  const redelivered = count(second, ({ status }) => status === 200);
  const rejected = count(third, ({ status }) => status === 401);
  const others = answers.length - accepted - redelivered - rejected;
  return { posts, retried: posts - answers.length, accepted, redelivered, rejected, others };
};

type Seen = { listed: number; delivered: number; distinct: number; unchanged: number };

/** What the service lists and what the runner wrote down, once both hold as many as there are. */
const look = async (api: Client, place: Place, made: Made, deliveries: readonly Delivery[]): Promise<Seen> => {
  const path = `/tenant/${made.tenant}/webhook-integrations/${made.integration}/deliveries?outcome=accepted&limit=200`;
  await eventually(
    () => linesOf(join(place.dir, 'delivered')),
    (found) => found.length >= deliveries.length,
    DELIVERY_TIMEOUT_MS,
  );
  const listed = await eventually(
    () => api.all<{ id: string }>(path),
    (found) => found.length >= deliveries.length,
    DELIVERY_TIMEOUT_MS,
  );
  // Whatever would run a second time has a moment to do so.
  await sleep(SETTLE_MS);
  const ids = linesOf(join(place.dir, 'delivered'));
  const bodies = new Map(deliveries.map(({ id, body }) => [id, body]));
  const asSent = (line: string): boolean =>
    line.endsWith(`,"data":${bodies.get((JSON.parse(line) as { deliveryid: string }).deliveryid)}}`);
  const unchanged = count(linesOf(join(place.dir, 'events')), asSent);
  return { listed: listed.length, delivered: ids.length, distinct: new Set(ids).size, unchanged };
};

const table = (rows: readonly (readonly [string, number, string])[]): string[] =>
  rows.map(([name, number, meaning]) => `  ${name.padEnd(12)}${String(number).padStart(6)}  ${meaning}`);

const report = (total: number, sent: Sent, seen: Seen): number => {
  const rows = table([
    ['sent', sent.posts, `posts: ${total} payloads, a third of them again, every tenth forged`],
    ...(sent.retried > 0 ? [['retried', sent.retried, 'of them after the answer 503: the service was too busy'] as const] : []),
    ['accepted', sent.accepted, 'answered 202: an event in the log'],
    ['redelivered', sent.redelivered, 'answered 200: seen before, nothing appended'],
    ['rejected', sent.rejected, 'answered 401: the signature is not right'],
    ['listed', seen.listed, 'accepted deliveries that the view of the log shows'],
    ['delivered', seen.delivered, `runs of the command, ${seen.distinct} different events, ${seen.unchanged} bodies byte by byte as sent`],
  ]);
  const wanted = [sent.accepted, seen.listed, seen.delivered, seen.distinct, seen.unchanged];
  const agree = sent.others === 0 && wanted.every((number) => number === total);
  const verdict = agree ? 'They agree: every delivery was accepted once and ran once.' : 'THEY DO NOT AGREE.';
  for (const line of ['', ...rows, '', verdict]) print(line);
  return agree ? 0 : 1;
};

const play = async (place: Place, runners: ChildProcess[]): Promise<number> => {
  const api = client(place.url, place.key);
  const made = await make(api, place.tenant);
  runners.push(startRunner(place, made));
  const deliveries = exampleDeliveries();
  const hook = `${place.url}/hooks/inbound/${made.integration}`;
  say(`posting ${deliveries.length} payloads of GitHub's to ${hook}`);
  const sent = await send(hook, made.secret, deliveries);
  return report(deliveries.length, sent, await look(api, place, made, deliveries));
};

/** Shows the whole way of real deliveries, from a provider's post to a runner's command, and that all counts agree. Resolves to the exit code. */
export const demo = async (config: Config): Promise<number> => {
  const left = new AbortController();
  const leaving = new Promise<number>((resolve) => left.signal.addEventListener('abort', () => resolve(INTERRUPTED), { once: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => left.abort());
  const runners: ChildProcess[] = [];
  let place: Place | undefined;
  try {
    place = await openPlace(config, say, left.signal);
    return await Promise.race([play(place, runners), leaving]);
  } catch (error) {
    if (left.signal.aborted) return INTERRUPTED;
    throw error;
  } finally {
    await Promise.all(runners.map(stopped));
    await place?.close();
  }
};
