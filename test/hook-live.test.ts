// limit: 240
import * as assert from 'uvu/assert';
import { openLog } from '../infra/eventstore/client.ts';
import { afterwards, test } from './ending.ts';
import { givenHookOver, sign } from './hook-given.ts';
import { pause, type StoreProcess, startStore } from './store-process.ts';

type Stage = {
  readonly store: StoreProcess;
  readonly given: Awaited<ReturnType<typeof givenHookOver>>;
  /** Another process of the platform, through a connection of its own. */
  readonly beside: () => ReturnType<Stage['given']['beside']>;
};

/** A test on a platform over a store of its own, all of which ends with it. */
const live = (name: string, act: (stage: Stage) => Promise<void>) =>
  test(name, async () => {
    const store = await startStore();
    const connect = () => {
      const log = openLog(store.url);
      afterwards(log.close);
      return log;
    };
    const given = await givenHookOver(connect());
    afterwards(given.close);
    const beside = async () => {
      const other = await given.beside(connect());
      afterwards(other.close);
      return other;
    };
    await act({ store, given, beside });
  });

const named = (id: string) => ({ 'x-github-delivery': id });

live('four processes take one delivery at once: one 202, 99 times 200, one event', async ({ given, beside }) => {
  const processes = [given, ...(await Promise.all([beside(), beside(), beside()]))];
  for (let round = 0; round < 10; round++) {
    const copies = Array.from({ length: 100 }, (_, n) => processes[n % 4]!);
    const answers = await Promise.all(copies.map(({ post }) => post(given.hook, '{"a":1}', named(`round-${round}`))));
    // A machine that is too busy may miss the half second; what was written then is a duplicate to everybody.
    const late = answers.filter(({ status }) => status === 503).length;
    const taken = answers.filter(({ status }) => status === 202).length;
    assert.ok(taken === 1 || (late > 0 && taken === 0));
    assert.is(answers.filter(({ status }) => status === 200).length, 100 - late - taken);
    const { id } = (await given.deliver('{"a":1}', named(`round-${round}`))).json;
    assert.ok(answers.every(({ status, json }) => status === 503 || json.id === id));
    const events = await Array.fromAsync(given.log.read(`delivery-${given.tenant_id}.${id}`));
    assert.equal(
      events.map(({ type }) => type),
      ['WebhookAccepted'],
    );
  }
});

live('bytes come back from the store as they went in', async ({ given }) => {
  const body = Buffer.from(JSON.stringify({ text: 'ü🙂\u0000\ud800'.repeat(20_000) }));
  const { json } = await given.deliver(body);
  const answer = await given.call('GET', `deliveries/${json.id}/body`);
  assert.is(answer.status, 200);
  assert.ok(Buffer.from(answer.text).equals(body));
});

live('a secret that is rotated in one process stops counting in the others within a second', async ({ given, beside }) => {
  const other = await beside();
  assert.is((await other.post(given.hook, '{}', named('before'))).status, 202);
  const rotated = await given.call('POST', `webhook-integrations/${given.hook}/rotate-secret`, { overlap_seconds: 0 });
  await pause(1_000);
  assert.is((await other.post(given.hook, '{}', named('old'))).status, 401);
  const fresh = { ...named('new'), 'x-hub-signature-256': sign('{}', rotated.json.secret as string) };
  assert.is((await other.post(given.hook, '{}', fresh)).status, 202);
});

live('a store that is killed costs answers of 503, and nothing that was acknowledged', async ({ store, given }) => {
  const acknowledged: string[] = [];
  const refused: number[] = [];
  let going = true;
  afterwards(() => {
    going = false;
  });
  const sender = async (who: number): Promise<void> => {
    for (let n = 0; going; n++) {
      const began = performance.now();
      const { status } = await given.deliver(`{"n":${n}}`, named(`${who}-${n}`));
      assert.ok(performance.now() - began < 5_000);
      if (status === 202) acknowledged.push(`${who}-${n}`);
      else refused.push(status);
    }
  };
  const sending = Promise.all(Array.from({ length: 8 }, (_, who) => sender(who)));
  sending.catch(() => {});
  await pause(500);
  await store.end('SIGKILL');
  await pause(700);
  await startStore({ dir: store.dir, port: store.port });
  await pause(2_000);
  going = false;
  await sending;
  assert.equal([...new Set(refused)], [503]);
  assert.ok(acknowledged.length > 20);
  for (const id of acknowledged) {
    let { status } = await given.deliver('{}', named(id));
    for (let tries = 0; status === 503 && tries < 20; tries++) status = (await given.deliver('{}', named(id))).status;
    assert.is(status, 200, id);
  }
});

live('a store that says nothing is not waited for where a hook is not in memory', async ({ store, given, beside }) => {
  const other = await beside();
  process.kill(store.pid, 'SIGSTOP');
  try {
    const began = performance.now();
    const unknown = `c${'0'.repeat(24)}`;
    const answers = await Promise.all([given.hook, unknown].map((hook) => other.post(hook, '{}', named('frozen'))));
    assert.ok(performance.now() - began < 5_000);
    for (const { status, headers } of answers) assert.equal([status, Number(headers.get('retry-after')) > 0], [503, true]);
  } finally {
    process.kill(store.pid, 'SIGCONT');
  }
  assert.is((await other.post(given.hook, '{}', named('frozen'))).status, 202);
});

test.run();
