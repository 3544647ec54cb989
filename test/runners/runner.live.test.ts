// limit: 240
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { headers, type NatsConnection } from 'nats';
import * as assert from 'uvu/assert';
import { inboundSubject } from '../../domain/runners/cloud-event.ts';
import { consumerName } from '../../domain/runners/runner-credential.ts';
import { type ConsumerLimits, manager, STREAM } from '../../infra/nats/jetstream.ts';
import { type RunnerOptions, runner } from '../../infra/runner/runner.ts';
import { agentOf, deliveryOf, eventIdOf, TENANT } from '../fixtures/generated-log.ts';
import { type NatsServer, waitUntil, withNatsServer } from '../fixtures/nats-server.ts';
import { KEY, runnerService } from '../fixtures/runner-service.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const AGENT = agentOf(0);

const cloudEvent = (index: number, more: object = { data: { index } }) => ({
  specversion: '1.0',
  id: eventIdOf(index),
  subject: deliveryOf(index),
  delivery_id: `d-${index}`,
  datacontenttype: 'application/json',
  ...more,
});

const publish = async (nats: NatsConnection, index: number, event: object = cloudEvent(index)): Promise<void> => {
  const head = headers();
  head.set('Nats-Msg-Id', eventIdOf(index));
  await nats.jetstream().publish(inboundSubject(TENANT, AGENT), JSON.stringify(event), { headers: head });
};

const consumer = async (nats: NatsConnection) => (await manager(nats)).consumers.info(STREAM, consumerName(AGENT));
const settled = (nats: NatsConnection, count: number): Promise<boolean> =>
  consumer(nats).then(
    ({ ack_floor, num_ack_pending }) => ack_floor.stream_seq >= count && num_ack_pending === 0,
    () => false,
  );

type Bench = {
  broker: NatsServer;
  nats: NatsConnection;
  service: Awaited<ReturnType<typeof runnerService>>;
  dir: string;
  /** Lines of a file that commands write to. */
  lines: (name?: string) => string[];
  /** Starts a runner in this process. The returned function stops it and resolves to its exit code. */
  begin: (exec: string, options?: Partial<RunnerOptions>) => () => Promise<number>;
  /** Starts a runner in a process of its own. */
  spawned: (
    exec: string,
    progressMs?: number,
  ) => { kill: (signal: NodeJS.Signals) => void; exited: Promise<number | null>; said: () => string };
};

const bench = (limits: ConsumerLimits & { seconds?: number }, body: (bench: Bench) => Promise<void>) =>
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const service = await runnerService(broker, nats, limits);
    const dir = mkdtempSync(join(tmpdir(), 'annals-runner-'));
    const lines = (name = 'out') => (existsSync(join(dir, name)) ? readFileSync(join(dir, name), 'utf8').split('\n').slice(0, -1) : []);
    const running = new Set<() => Promise<unknown>>();
    const begin: Bench['begin'] = (exec, options = {}) => {
      const control = new AbortController();
      const run = runner({
        url: service.url,
        key: KEY,
        agent: 'triage',
        exec: `cd ${dir}; ${exec}`,
        dir,
        signal: control.signal,
        ...options,
      });
      const end = () => {
        control.abort();
        return run;
      };
      run.catch(() => {});
      running.add(end);
      return end;
    };
    const spawned: Bench['spawned'] = (exec, progressMs = 15_000) => {
      const args = [join(import.meta.dirname, '../fixtures/runner-process.ts'), 'triage', `cd ${dir}; ${exec}`, dir, String(progressMs)];
      const child = spawn(process.execPath, args, {
        env: { ...process.env, ANNALS_URL: service.url, ANNALS_KEY: KEY },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      afterTest(() => child.kill('SIGKILL'));
      let said = '';
      child.stderr.on('data', (text: Buffer) => {
        said += text.toString();
      });
      return {
        kill: (signal) => void child.kill(signal),
        exited: new Promise((resolve) => child.once('exit', (code) => resolve(code))),
        said: () => said,
      };
    };
    try {
      await body({ broker, nats, service, dir, lines, begin, spawned });
    } finally {
      await Promise.allSettled([...running].map((end) => end()));
      await service.close();
      rmSync(dir, { recursive: true, force: true });
    }
  });

test(
  'a command reads the CloudEvent from its standard input and gets its ids in the environment',
  bench({}, async ({ nats, begin, lines, service }) => {
    const large = Buffer.from(`{ "text": "${'y'.repeat(200_000)}" }`);
    service.bodies.set(deliveryOf(1), large);
    await publish(nats, 0);
    await publish(nats, 1, cloudEvent(1, { dataref: `https://elsewhere.test/tenant/${TENANT}/deliveries/${deliveryOf(1)}/body` }));
    const end = begin('cat >> events; echo >> events; echo $ANNALS_EVENT_ID $ANNALS_DELIVERY_ID $ANNALS_SUBJECT $ANNALS_AGENT >> out');
    await waitUntil(() => settled(nats, 2));
    assert.is(await end(), 0);
    assert.equal(
      lines(),
      [0, 1].map((index) => `${eventIdOf(index)} d-${index} ${deliveryOf(index)} triage`),
    );
    assert.equal(JSON.parse(lines('events')[0]!), cloudEvent(0));
    assert.ok(lines('events')[1]!.endsWith(`,"data":${large}}`));
    assert.is(JSON.parse(lines('events')[1]!).dataref, undefined);
  }),
);

test(
  'a runner that is killed between the effect and the acknowledgement does not repeat the effect',
  bench({ ackWaitMs: 1_000 }, async ({ nats, spawned, lines, broker, begin }) => {
    for (let round = 0; round < 4; round++) {
      await publish(nats, round);
      const one = spawned('echo $ANNALS_EVENT_ID >> out; sleep 0.2');
      await waitUntil(() => lines().length > round);
      await broker.kill();
      await waitUntil(() => lines(`${AGENT}.ledger`).length > round);
      one.kill('SIGKILL');
      await one.exited;
      await broker.start();
      await waitUntil(() => consumer(nats).then(Boolean, () => false));
    }
    const end = begin('echo $ANNALS_EVENT_ID >> out');
    await waitUntil(() => settled(nats, 4));
    await end();
    assert.equal(
      lines(),
      Array.from({ length: 4 }, (_, index) => eventIdOf(index)),
    );
  }),
);

test(
  'after a lost acknowledgement, the stored ids prevent a second run',
  bench({ ackWaitMs: 1_000 }, async ({ nats, begin, lines, broker }) => {
    await publish(nats, 0);
    const end = begin('echo $ANNALS_EVENT_ID >> out; echo going >> gone; sleep 0.3');
    await waitUntil(() => lines('gone').length === 1);
    await broker.kill();
    await sleep(1_500);
    await broker.start();
    await waitUntil(() => settled(nats, 1));
    await end();
    assert.equal(lines(), [eventIdOf(0)]);
  }),
);

test(
  'a failed command is tried again after a delay, and the next message does not wait for it',
  bench({}, async ({ nats, begin, lines }) => {
    await publish(nats, 0);
    await publish(nats, 1);
    const end = begin(`echo $ANNALS_DELIVERY_ID $(date +%s%3N) >> out; [ $ANNALS_DELIVERY_ID = d-1 ] || [ $(grep -c d-0 out) -ge 3 ]`);
    await waitUntil(() => settled(nats, 2));
    await end();
    const tried = lines().map((line) => line.split(' ') as [string, string]);
    assert.equal(
      tried.map(([id]) => id),
      ['d-0', 'd-1', 'd-0', 'd-0'],
    );
    const [first, second, third] = tried.filter(([id]) => id === 'd-0').map(([, at]) => Number(at));
    assert.ok(second! - first! >= 950 && second! - first! < 1_900, `first pause ${second! - first!} ms`);
    assert.ok(third! - second! >= 1_950 && third! - second! < 3_500, `second pause ${third! - second!} ms`);
  }),
);

test(
  'a command that takes longer than the acknowledgement timeout is not run twice',
  bench({ ackWaitMs: 800 }, async ({ nats, begin, lines }) => {
    await publish(nats, 0);
    const end = begin('echo $ANNALS_EVENT_ID >> out; sleep 3', { progressMs: 300, concurrency: 3 });
    await waitUntil(() => settled(nats, 1));
    await end();
    assert.equal(lines(), [eventIdOf(0)]);
    assert.is((await consumer(nats)).num_redelivered, 0);
  }),
);

test(
  'a message that is not a CloudEvent of a known version is dropped at once',
  bench({}, async ({ nats, begin, lines }) => {
    await publish(nats, 0, cloudEvent(0, { specversion: '2.0' }));
    await publish(nats, 1, { no: 'event' });
    await publish(nats, 2);
    const end = begin('echo $ANNALS_DELIVERY_ID >> out');
    await waitUntil(() => settled(nats, 3));
    await end();
    assert.equal(lines(), ['d-2']);
  }),
);

for (const signal of ['SIGTERM', 'SIGHUP'] as const)
  test(
    `after ${signal} the command finishes and is acknowledged, and the runner exits with code 0`,
    bench({}, async ({ nats, spawned, lines }) => {
      await publish(nats, 0);
      await publish(nats, 1);
      const one = spawned('echo begun >> begun; sleep 1; echo $ANNALS_DELIVERY_ID >> out');
      await waitUntil(() => lines('begun').length === 1);
      one.kill(signal);
      assert.is(await one.exited, 0);
      assert.equal(lines(), ['d-0']);
      assert.is((await consumer(nats)).ack_floor.stream_seq, 1);
    }),
  );

test(
  'credentials are renewed before they expire, even while a command runs',
  bench({ seconds: 4, ackWaitMs: 1_000 }, async ({ nats, begin, lines, service }) => {
    await publish(nats, 0);
    const end = begin('echo $ANNALS_DELIVERY_ID >> out; sleep $([ $ANNALS_DELIVERY_ID = d-0 ] && echo 6 || echo 0)', { progressMs: 300 });
    await waitUntil(() => settled(nats, 1));
    await sleep(3_000);
    await publish(nats, 1);
    await waitUntil(() => settled(nats, 2));
    await end();
    assert.equal(lines(), ['d-0', 'd-1']);
    assert.ok(service.issued() >= 3, `${service.issued()} credentials`);
  }),
);

test(
  'a credential gives access to its own consumer and to nothing else',
  bench({}, async ({ nats, broker, service }) => {
    const { connect, jwtAuthenticator } = await import('nats');
    const response = await fetch(`${service.url}/tenant/${TENANT}/agents/${AGENT}/runner-credentials`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}` },
    });
    const { id, jwt, seed, url } = (await response.json()) as Record<string, string>;
    const mine = await connect({
      servers: new URL(url!).host,
      authenticator: jwtAuthenticator(jwt!, new TextEncoder().encode(seed!)),
      inboxPrefix: `_INBOX_${id}`,
    });
    const denied: string[] = [];
    void (async () => {
      for await (const { data } of mine.status()) denied.push(String(data));
    })();
    const strange = [
      inboundSubject(TENANT, AGENT),
      `$JS.API.CONSUMER.MSG.NEXT.${STREAM}.runner-${agentOf(1)}`,
      `$JS.API.STREAM.DELETE.${STREAM}`,
      `$JS.API.STREAM.MSG.GET.${STREAM}`,
      `$JS.ACK.${STREAM}.runner-${agentOf(1)}.1.1.1.1.1`,
    ];
    for (const subject of strange) mine.publish(subject, '{}');
    for (const subject of ['agents.>', '_INBOX.>', '>']) mine.subscribe(subject, { callback: () => {} });
    await mine.flush();
    await waitUntil(() => denied.length >= strange.length + 3);
    assert.is((await (await manager(nats)).streams.info(STREAM)).state.messages, 0);
    await mine.close();
    assert.ok(broker);
  }),
);

test(
  'a wrong key, a wrong agent and an unreachable service are each reported in one line',
  bench({}, async ({ begin, service, spawned }) => {
    const refusal = async (options: Partial<RunnerOptions>): Promise<string> => {
      const end = begin('true', options);
      await sleep(300);
      return end().then(
        () => 'none',
        (error: Error) => error.message,
      );
    };
    assert.is(await refusal({ key: 'another' }), 'ANNALS_KEY is refused: the key is not valid');
    assert.match(await refusal({ url: `${service.url}/a/path` }), /^there is no Annals service at .*\/a\/path: correct ANNALS_URL$/);
    assert.is(await refusal({ agent: 'other' }), 'ANNALS_KEY belongs to the agent triage, not to other');
    await service.close();
    const one = spawned('true');
    await waitUntil(() => /does not answer: ECONNREFUSED; trying again/.test(one.said()));
    one.kill('SIGTERM');
    assert.is(await one.exited, 0);
  }),
);

test.run();
