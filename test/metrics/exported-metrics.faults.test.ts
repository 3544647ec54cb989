// limit: 240 s for this file (test/run.ts)
import { readFileSync, renameSync, statfsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { JsMsg } from 'nats';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { consumerName, STREAM } from '../../domain/runners/runner-credential.ts';
import { ensureConsumer } from '../../infra/nats/jetstream.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { type Platform, sharedPlatform } from '../faults/platform.ts';
import { expectReply } from '../faults/running-platform.ts';
import { eventually, root } from '../fixtures/child-process.ts';
import { type Scrape, scrape, seriesSum } from '../fixtures/scrape.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

const monitoring = (file: string): string => readFileSync(join(root, 'infra', 'monitoring', file), 'utf8');

type Dashboard = { readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[] };

const dashboardQueries = (): string[] =>
  (JSON.parse(monitoring('grafana-dashboard.json')) as Dashboard).panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** Returns the queries of all alert rules. A query of several lines ends where the next key of its rule begins. */
const alertQueries = (): string[] =>
  monitoring('alerts.yml')
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((rule) => /^ {8}expr: (?:>-)?([\s\S]*?)^ {8}\w+:/m.exec(rule)![1]!);

const metricsIn = (query: string): string[] => query.match(/\b(?:annals|nodejs|process)_\w+/g) ?? [];

/** Returns the names of the labels by which a query selects or groups series. */
const labelsIn = (query: string): string[] => [
  ...[...query.matchAll(/\{([^}]*)\}/g)].flatMap(([, selector]) => [...selector!.matchAll(/(\w+)\s*(?:=|!)/g)].map(([, label]) => label!)),
  ...[...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels]) => labels!.split(/,\s*/)),
];

type Hook = { readonly id: string };
type Agent = { readonly id: string };

/**
 * Creates an agent and its integration. The returned `deliver` sends a signed delivery and returns the response status.
 */
const connectAgent = async ({ call, url, firstTenant }: Platform, slug = 'a') => {
  const tenant = await firstTenant();
  const agent = await expectReply<Agent>(call('POST', `/tenant/${tenant.id}/agents`, { name: slug, slug }));
  const connected = call('POST', `/tenant/${tenant.id}/webhook-integrations`, {
    provider: 'github',
    agent_id: agent.id,
    label: 'Code',
    secret: SECRET,
    event_filter: ['push'],
  });
  const hook = await expectReply<Hook>(connected);
  const deliver = async (id: string, { event = 'push', secret = SECRET, address = hook.id } = {}): Promise<number> => {
    const signature = sign('{}', secret);
    const headers = {
      'content-type': 'application/json',
      'x-github-delivery': id,
      'x-github-event': event,
      'x-hub-signature-256': signature,
    };
    return (await fetch(`${url}/hooks/inbound/${address}`, { method: 'POST', headers, body: '{}' })).status;
  };
  return { tenant: tenant.id, agent: agent.id, deliver };
};

/**
 * Acts as a runner. Rejects the first message once and acknowledges its second attempt. Terminates the second message.
 */
const runAgent = async (platform: Platform, tenant: string, agent: string): Promise<void> => {
  const nats = await platform.connectNats();
  await ensureConsumer(nats, tenant, agent);
  const consumer = await nats.jetstream().consumers.get(STREAM, consumerName(agent));
  const next = async (): Promise<JsMsg> => (await consumer.next({ expires: 10_000 }))!;
  (await next()).nak();
  // The broker may send another message before it has handled the rejection. That one is neither acknowledged nor refused.
  for (let [isAcknowledged, isTerminated] = [false, false]; !isAcknowledged || !isTerminated; ) {
    const message = await next();
    if (message.redelivered) message.ack();
    else if (!isTerminated) message.term();
    isAcknowledged ||= message.redelivered;
    isTerminated ||= !message.redelivered;
  }
  await nats.drain();
};

/** Checks that each query of the dashboard and of the alert rules uses only metrics and labels that are exported. */
const assertQueriesAnswered = (scrapes: readonly Scrape[]): void => {
  const types = new Map(scrapes.flatMap((each) => [...each.types]));
  const baseOf = (name: string): string => (types.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, ''));
  const series = scrapes.flatMap((each) => each.series);
  for (const query of [...dashboardQueries(), ...alertQueries()]) {
    const named = metricsIn(query).map(baseOf);
    assert.ok(named.length > 0, query);
    const missing = named.filter((name) => !types.has(name));
    assert.equal(missing, [], query);
    const selected = series.filter(({ name }) => named.includes(baseOf(name)));
    const known = new Set(['instance', ...selected.flatMap(({ labels }) => Object.keys(labels))]);
    const unknown = labelsIn(query).filter((label) => !known.has(label));
    assert.equal(unknown, [], query);
  }
};

const count = (scraped: Scrape, outcome: string, reason: string): number | undefined =>
  seriesSum(scraped, 'annals_deliveries_total', { outcome, reason });

const METRICS_PORT = String(await freePort());
const WORK = `http://127.0.0.1:${METRICS_PORT}`;
const onPlatform = sharedPlatform({ METRICS_PORT, METRICS_TOKEN: 'the-token' });

// This test must be the first one, because it expects the counts of a new platform.
test('serve and work export every metric that the dashboard and the alert rules use, with the right values', () =>
  onPlatform(async (platform) => {
    const { url, data } = platform;
    const { tenant, agent, deliver } = await connectAgent(platform);
    for (const id of ['1', '2', '3', '4', '4']) await deliver(id);
    assert.is(await deliver('5', { event: 'ping' }), 202);
    assert.is(await deliver('6', { secret: 'guessed' }), 401);
    assert.is(await deliver('7', { address: agent }), 404);
    await eventually('all four messages are published', async () => seriesSum(await scrape(WORK), 'annals_relay_lag_events') === 0);
    await runAgent(platform, tenant, agent);
    for (let tries = 0; tries < 25; tries++) await fetch(`${url}/me`, { headers: { authorization: 'Bearer guessed' } });
    await eventually('the acknowledgement is recorded', async () => seriesSum(await scrape(WORK), 'annals_delivery_seconds_count') === 1);
    await eventually('the backlog is read again', async () => seriesSum(await scrape(WORK), 'annals_unacknowledged_messages') === 2);

    const [served, worked] = await Promise.all([scrape(url), scrape(WORK)]);
    assert.equal(
      {
        accepted: count(served, 'accepted', ''),
        duplicate: count(served, 'duplicate', ''),
        blocked: count(served, 'blocked', 'event_filter'),
        forged: count(served, 'rejected', 'signature_mismatch'),
        unknown: count(served, 'rejected', 'unknown_address'),
        redeliveries: seriesSum(worked, 'annals_redeliveries_total'),
        terminated: seriesSum(worked, 'annals_dead_letters_total', { reason: 'terminated' }),
        expired: seriesSum(worked, 'annals_dead_letters_total', { reason: 'max_deliveries' }),
        unacknowledged: seriesSum(worked, 'annals_consumer_unacknowledged_messages', { tenant, agent }),
        relay: seriesSum(worked, 'annals_relay_lag_seconds'),
        masterKey: seriesSum(served, 'annals_master_key_readable'),
        refused: seriesSum(served, 'annals_rate_limit_refusals_total', { policy: 'bad-credentials' }),
      },
      {
        accepted: 4,
        duplicate: 1,
        blocked: 1,
        forged: 1,
        unknown: 1,
        redeliveries: 1,
        terminated: 1,
        expired: 0,
        unacknowledged: 2,
        relay: 0,
        masterKey: 1,
        refused: 5,
      },
    );
    for (const scraped of [served, worked]) {
      for (const name of ['event_store', 'postgres', 'nats']) assert.is(seriesSum(scraped, 'annals_dependency_up', { name }), 1, name);
      assert.ok(seriesSum(scraped, 'annals_store_append_seconds_count', { outcome: 'ok' })! > 0);
    }
    const oldest = seriesSum(worked, 'annals_consumer_oldest_unacknowledged_seconds', { tenant, agent })!;
    assert.ok(oldest > 0 && oldest < 120, `the oldest unacknowledged message is ${oldest} s old`);
    const inSeconds = seriesSum(worked, 'annals_delivery_seconds_sum')!;
    assert.ok(inSeconds > 0 && inSeconds < 60, `${inSeconds} s from receipt to acknowledgement`);
    const { bavail, bsize } = statfsSync(data);
    assert.ok(Math.abs(seriesSum(worked, 'annals_disk_free_bytes')! / (bavail * bsize) - 1) < 0.2);
    assert.ok(seriesSum(worked, 'annals_store_size_bytes')! > 1_000);
    assert.ok(seriesSum(worked, 'annals_projection_events_total', { projection: 'deliveries' })! >= 7);

    assertQueriesAnswered([served, worked]);

    const masterKey = join(data, 'master.key');
    renameSync(masterKey, `${masterKey}.away`);
    await eventually('the missing key is noticed', async () => seriesSum(await scrape(url), 'annals_master_key_readable') === 0);
    renameSync(`${masterKey}.away`, masterKey);
  }));

test('both serve and work show their metrics only to callers on the same machine and to callers with the metrics token', () =>
  onPlatform(async ({ url }) => {
    const read = async (base: string, headers = {}, path = '/metrics') => {
      const response = await fetch(base + path, { headers });
      return [response.status, response.headers.get('content-type')?.split(';')[0]];
    };
    const proxied = { 'x-forwarded-for': '192.0.2.1' };
    const refused = [401, 'application/problem+json'];
    const answered = [200, 'text/plain'];
    for (const base of [url, WORK]) {
      assert.equal(await read(base), answered);
      assert.equal(await read(base, proxied), refused);
      assert.equal(await read(base, { ...proxied, authorization: 'Bearer another-token' }), refused);
      assert.equal(await read(base, { ...proxied, authorization: 'Bearer the-token' }), answered);
    }
    assert.equal(await read(WORK, {}, '/me'), [404, 'application/problem+json']);
  }));

test('a worker starts even if METRICS_PORT is in use, and serves its metrics as soon as the port is free', () =>
  onPlatform(async (platform) => {
    const port = await freePort();
    const occupant = createServer().listen(port, '127.0.0.1');
    const worker = await platform.startWorkProcess(/METRICS_PORT cannot be listened on/, { METRICS_PORT: String(port) });
    await worker.waitForOutput(/"working"/);
    await new Promise((resolve) => occupant.close(resolve));
    await worker.waitForOutput(/"serving metrics"/);
    await scrape(`http://127.0.0.1:${port}`);
    await worker.stop();
  }));

test('exactly one of two workers exports the metrics of the whole platform; after that worker is killed, the other one does', () =>
  onPlatform(async (platform) => {
    const gauges = ['annals_projection_position', 'annals_relay_lag_events', 'annals_consumers', 'annals_disk_free_bytes'];
    /** Counts how many of these gauges a worker exports. While the worker does not respond, the count is 0. */
    const exported = async (base: string): Promise<number> => {
      const scraped = await scrape(base).catch(() => null);
      return gauges.filter((name) => scraped && seriesSum(scraped, name) !== undefined).length;
    };
    await eventually('the first worker exports all', async () => (await exported(WORK)) === gauges.length);
    const port = await freePort();
    await platform.startWorkProcess(/"serving metrics"/, { METRICS_PORT: String(port) });
    const other = `http://127.0.0.1:${port}`;
    assert.is(await exported(other), 0);
    assert.is(seriesSum(await scrape(other), 'annals_build_info', { process: 'work' }), 1);
    await platform.kill('work');
    await eventually('one of them exports all, and the other one nothing', async () => {
      const counts = await Promise.all([WORK, other].map(exported));
      return counts.sort((a, b) => a - b).join() === `0,${gauges.length}`;
    });
  }));

test('every alert rule has a summary, and there are at least six alert rules', () => {
  const rules = monitoring('alerts.yml')
    .split(/^ {6}- alert: /m)
    .slice(1);
  assert.ok(rules.length >= 6);
  for (const rule of rules) assert.match(rule, /^ {10}summary: '[^'\n]+'$/m, rule);
});

test.run();
