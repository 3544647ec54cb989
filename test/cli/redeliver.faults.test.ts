// limit: 180 s for this file (test/run.ts)
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { consumerName, STREAM } from '../../domain/runners/runner-credential.ts';
import { ensureConsumer } from '../../infra/nats/jetstream.ts';
import { expectReply, type KillablePlatform } from '../faults/running-platform.ts';
import { createTenant } from '../faults/tenants.ts';
import { eventually, mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

type Id = { readonly id: string };
type Result = { readonly code: unknown; readonly lines: readonly string[] };

const annals = async (words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Result> => {
  const running = startProgram(process.execPath, [mainFile, ...words], { env: { ...unconfiguredEnvironment(), ...env } });
  const code = await running.ended;
  return { code, lines: running.output().trim().split('\n') };
};

/** Creates an agent with an integration and sends deliveries to it. @returns the ids of the deliveries */
const sendDeliveries = async (platform: KillablePlatform, slug: string, count: number) => {
  const { url } = platform;
  const tenant = await createTenant(platform);
  const call = (method: string, to: string, body: object) => platform.call(method, to, body, tenant);
  const path = `/tenant/${tenant.id}`;
  const agent = await expectReply<Id>(call('POST', `${path}/agents`, { name: slug, slug }));
  const fields = { provider: 'github', agent_id: agent.id, label: 'Code', secret: SECRET };
  const hook = await expectReply<Id>(call('POST', `${path}/webhook-integrations`, fields));
  const deliveries: string[] = [];
  for (let n = 0; n < count; n++) {
    const type = { 'content-type': 'application/json' };
    const headers = { ...type, 'x-github-delivery': `d-${n}`, 'x-github-event': 'push', 'x-hub-signature-256': sign('{}') };
    const sent = await fetch(`${url}/hooks/inbound/${hook.id}`, { method: 'POST', headers, body: '{}' });
    const { id, outcome } = (await sent.json()) as Id & { outcome: string };
    if (outcome !== 'accepted') throw new Error(`the delivery was ${outcome}`);
    deliveries.push(id);
  }
  return { tenant: tenant.id, key: tenant.key, agent: agent.id, deliveries };
};

const runnerOf = async (platform: KillablePlatform, { tenant, agent }: { tenant: string; agent: string }) => {
  const nats = await platform.connectNats();
  await ensureConsumer(nats, tenant, agent);
  const consumer = await nats.jetstream().consumers.get(STREAM, consumerName(agent));
  const find = (ms: number) => consumer.next({ expires: Math.round(ms * loadFactor()) });
  const next = async () => {
    const message = await find(15_000);
    assert.ok(message, 'the broker must have a message for the runner');
    return message!;
  };
  return { find, next, close: () => nats.drain() };
};

const onPlatform = lentPlatform();

const SINCE = ['--outcome', 'dead', '--since', new Date().toISOString()];

test('annals deliveries redeliver sends each dead delivery again, and only once, even if the worker process is killed and the command is repeated', () =>
  onPlatform(async (platform) => {
    const run = (...words: string[]): Promise<Result> => annals(['deliveries', 'redeliver', ...words], { ANNALS_DATA: platform.data });
    const sent = await sendDeliveries(platform, 'a', 3);
    const { tenant, key, agent, deliveries } = sent;
    const runner = await runnerOf(platform, sent);
    for (let n = 0; n < 2; n++) (await runner.next()).term();
    (await runner.next()).ack();
    const show = async (id: string) =>
      JSON.parse((await platform.call('GET', `/tenant/${tenant}/deliveries/${id}`, undefined, { key })).text);
    const [first, second, third] = deliveries as [string, string, string];
    const statuses = async () => (await Promise.all(deliveries.map(show))).map(({ status }) => status);
    await eventually('the ends of the messages are recorded', async () => `${await statuses()}` === 'dead,dead,done');

    const about = (id: string): string => `${id}  tenant ${tenant}  agent ${agent}`;
    const tried = { code: 0, lines: [`would send ${about(first)}`, `would send ${about(second)}`, '2 would be sent, 0 skipped'] };
    assert.equal(await run(...SINCE, '--dry-run'), tried);
    assert.equal(await run(...SINCE, '--tenant', agent), { code: 0, lines: ['0 sent, 0 skipped'] });
    assert.equal(await run('--outcome', 'dead', '--since', '2126-01-01T00:00:00Z'), { code: 0, lines: ['0 sent, 0 skipped'] });
    const [done] = await Promise.all([run(...SINCE, '--tenant', tenant), platform.kill('work')]);
    assert.is(done.code, 0);
    assert.is(done.lines.at(-1), '2 sent, 0 skipped');
    const skipped = deliveries.slice(0, 2).map((id) => `skipped ${about(id)}: it was sent again already`);
    assert.equal(await run(...SINCE), { code: 0, lines: [...skipped, '0 sent, 2 skipped'] });

    const again = [await runner.next(), await runner.next()];
    assert.equal(again.map((message) => message.headers!.get('Annals-Delivery')).sort(), [first, second].sort());
    for (const message of again) message.ack();
    assert.is(await runner.find(2_000), null);
    await eventually('both are done', async () => `${await statuses()}` === 'done,done,done');
    assert.equal([(await show(first)).attempts.length, (await show(third)).attempts.length], [2, 1]);
    const log = JSON.parse(
      (await platform.call('GET', `/tenant/${tenant}/audit-logs?action=delivery.requeued`, undefined, { key })).text,
    ) as {
      resource_id: string;
    }[];
    assert.equal(log.map(({ resource_id }) => resource_id).sort(), [first, second].sort());
    await runner.close();
  }));

test('annals deliveries redeliver prints an error that names the argument that is missing, invalid or unknown', async () => {
  for (const [words, wrong] of [
    [['--since', '2026-01-01T00:00:00Z'], /outcome/i],
    [['--outcome', 'dead'], /since/i],
    [['--outcome', 'accepted', '--since', '2026-01-01T00:00:00Z'], /--outcome must be dead/],
    [['--outcome', 'dead', '--since', 'yesterday'], /--since must be a time/],
    [[...SINCE, '--tenant', 'acme'], /--tenant must be a tenant id/],
    [[...SINCE, '--force'], /Unknown option --force/],
  ] as const) {
    const { code, lines } = await annals(['deliveries', 'redeliver', ...words]);
    assert.is(code, 2, words.join(' '));
    assert.match(lines[0]!, wrong);
  }
});

test.run();
