// limit: 240 s for this file (test/run.ts)
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openReactorSessions } from '../../infra/reactors/reactor-sessions.ts';
import { startRedrive } from '../../infra/relay/redrive.ts';
import { createSockets, post } from '../faults/load.ts';
import { type Runner, startRunner } from '../faults/runners.ts';
import type { KillablePlatform } from '../faults/running-platform.ts';
import { createDataset } from '../faults/tenants.ts';
import { eventually, mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { silentLogger } from '../fixtures/live-projections.ts';
import { loseMessages } from '../fixtures/lose-messages.ts';
import { lentPlatform } from '../fixtures/running-platform.ts';

const withPlatform = lentPlatform();

type Sent = {
  readonly tenant: string;
  readonly key: string;
  readonly agent: string;
  readonly runner: Runner;
  readonly deliveries: readonly string[];
};

const annals = async (platform: KillablePlatform, ...words: string[]): Promise<{ code: unknown; lines: readonly string[] }> => {
  const env = { ...unconfiguredEnvironment(), ANNALS_DATA: platform.data };
  const running = startProgram(process.execPath, [mainFile, ...words], { env });
  const code = await running.ended;
  return { code, lines: running.output().trim().split('\n') };
};

let sets = 0;

/**
 * Creates an agent and sends it `count` deliveries. Its runner processes the first `processed` of them and is then
 * stopped.
 */
const sendDeliveries = async (platform: KillablePlatform, processed: number, count: number): Promise<Sent> => {
  const slug = `set-${sets++}`;
  const { agents, hooks } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 1 }, slug);
  const [agent, hook] = [agents[0]!, hooks[0]!];
  const runner = await startRunner(platform, agent);
  const sockets = createSockets();
  const deliveries: string[] = [];
  const send = async (): Promise<void> => {
    const body = JSON.stringify({ n: deliveries.length });
    deliveries.push((await post(platform.url, sockets, { hook, deliveryId: `${slug}-${deliveries.length}`, body })).id!);
  };
  while (deliveries.length < processed) await send();
  await eventually('the runner has processed its deliveries', async () => runner.effects().length === processed);
  await runner.stop();
  while (deliveries.length < count) await send();
  sockets.destroy();
  return { tenant: agent.tenant.id, key: agent.tenant.key, agent: agent.id, runner, deliveries };
};

const statusesOf = async ({ call }: KillablePlatform, { tenant, key, deliveries }: Sent): Promise<string[]> =>
  Promise.all(
    deliveries.map(async (id) => {
      const shown = JSON.parse((await call('GET', `/tenant/${tenant}/deliveries/${id}`, undefined, { key })).text) as {
        status: unknown;
        attempts?: unknown[];
      };
      // For a short time, a new delivery is missing from the read model. Treat it as waiting.
      return shown.attempts ? `${shown.status} ${shown.attempts.length}` : 'waiting 0';
    }),
  );

const isPublished = async (platform: KillablePlatform, sent: Sent): Promise<boolean> =>
  (await statusesOf(platform, sent)).every((status) => !status.startsWith('waiting'));

test('annals redrive sends lost messages again, each once; those that were processed have no second effect', () =>
  withPlatform(async (platform) => {
    const sent = await sendDeliveries(platform, 2, 6);
    await eventually('all are published, and two acknowledged', async () => {
      const statuses = await statusesOf(platform, sent);
      return statuses.filter((status) => status === 'done 1').length === 2 && (await isPublished(platform, sent));
    });
    assert.is(await loseMessages(platform, sent.tenant, sent.agent), 6);
    await sendDeliveries(platform, 1, 1);
    const log = platform.openLog();
    const nats = await platform.connectNats();
    const { DATABASE_URL } = platform.serviceVariables();
    const lines: object[] = [];
    const logger = { info: () => {}, debug: () => {}, warn: (fields: object) => void lines.push(fields) };
    const sessions = openReactorSessions(DATABASE_URL, silentLogger);
    const parts = {
      log,
      nats,
      reads: sessions.reads,
      logger,
      isResponsible: () => true,
      isRecording: () => true,
      publishedThrough: async () => null,
    };
    const reactors = [1, 2].map(() => startRedrive({ ...parts, intervalMs: 8_000, overdueMs: 0 }));
    const runner = await sent.runner.start();
    await eventually('every delivery is done', async () => (await statusesOf(platform, sent)).every((status) => status.startsWith('done')));
    await Promise.all(reactors.map((each) => each.close()));
    await sessions.close();
    assert.is(runner.effects().length, 6);
    const accepted: string[] = [];
    let requeued = 0;
    for await (const event of log.readAll()) {
      if (event.tenant !== sent.tenant) continue;
      if (event.type === 'WebhookAccepted') accepted.push(event.event_id);
      if (event.type === 'DeliveryRequeued') requeued++;
    }
    assert.equal(runner.effects().sort(), accepted.sort());
    assert.is(requeued, 4);
    assert.ok(lines.length > 0);
    await runner.stop();
    await nats.close();
    await log.close();
  }));

test('annals redrive sends each lost message again only once, and does not send messages that still wait at the broker', () =>
  withPlatform(async (platform) => {
    const since = ['--since', new Date().toISOString()];
    const [lost, waiting] = [await sendDeliveries(platform, 1, 3), await sendDeliveries(platform, 1, 2)];
    await eventually('all are published', async () => (await isPublished(platform, lost)) && (await isPublished(platform, waiting)));
    await eventually('one is acknowledged', async () => (await statusesOf(platform, lost))[0] === 'done 1');
    await eventually('one is acknowledged', async () => (await statusesOf(platform, waiting))[0] === 'done 1');
    assert.is(await loseMessages(platform, lost.tenant, lost.agent), 3);
    const run = (...words: string[]) => annals(platform, 'redrive', ...words);
    const about = (id: string): string => `${id}  tenant ${lost.tenant}  agent ${lost.agent}`;
    const [, second, third] = lost.deliveries as [string, string, string];
    const tried = await run(...since, '--dry-run');
    assert.equal(tried, {
      code: 0,
      lines: [
        '3 without an acknowledgement: 1 at the broker, 0 left to the relay, 2 lost',
        `would send ${about(second)}`,
        `would send ${about(third)}`,
        '2 would be sent, 0 skipped',
      ],
    });
    const none = '0 without an acknowledgement: 0 at the broker, 0 left to the relay, 0 lost';
    assert.equal(await run('--tenant', lost.agent), { code: 0, lines: [none, '0 sent, 0 skipped'] });
    const done = await run(...since);
    assert.is(done.code, 0);
    assert.match(done.lines[1]!, `sent ${about(second)}  message `);
    assert.is(done.lines.at(-1), '2 sent, 0 skipped');
    const repeated = await run(...since);
    assert.is(repeated.lines.at(-1), '0 sent, 0 skipped');
    const runner = await lost.runner.start();
    await eventually(
      'every lost delivery is done',
      async () => `${(await statusesOf(platform, lost)).map((s) => s.slice(0, 4))}` === 'done,done,done',
    );
    assert.is(runner.effects().length, 3);
    await runner.stop();
  }));

test('annals redrive prints an error that names the invalid argument or says that the message broker cannot be reached', () =>
  withPlatform(async (platform) => {
    for (const [words, wrong] of [
      [['--since', 'yesterday'], /--since must be a time/],
      [['--since', '2126-01-01T00:00:00Z'], /--since must be a time in the past/],
      [['--tenant', 'acme'], /--tenant must be a tenant id/],
      [['--force'], /Unknown option --force/],
    ] as const) {
      const { code, lines } = await annals(platform, 'redrive', ...words);
      assert.is(code, 2, words.join(' '));
      assert.match(lines[0]!, wrong);
    }
    const env = {
      ...unconfiguredEnvironment(),
      ANNALS_DATA: platform.data,
      ...platform.serviceVariables(),
      NATS_URL: 'nats://127.0.0.1:9',
    };
    const running = startProgram(process.execPath, [mainFile, 'redrive'], { env });
    assert.is(await running.ended, 1);
    assert.match(running.output(), /the message broker cannot be reached/);
  }));

test.run();
