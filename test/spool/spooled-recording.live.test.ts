// limit: 120 s for this file (test/run.ts)
import { equal, ok } from 'uvu/assert';
import { startIntegrationWarming } from '../../infra/deliveries/warm-integrations.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { eventually } from '../fixtures/child-process.ts';
import { silentLogger } from '../fixtures/live-projections.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { pause, type StoreProcess, startStore, storeDir } from '../fixtures/store-process.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';
import { createWebhookPlatformOver, sign } from '../fixtures/webhook-platform.ts';

const MAX_ANSWER_MS = 900;

type Stage = {
  readonly store: StoreProcess;
  readonly given: Awaited<ReturnType<typeof createWebhookPlatformOver>>;
  /** Sends a delivery. @returns the status, and the milliseconds until the response */
  readonly deliver: (id: string, hook?: string) => Promise<readonly [status: number, ms: number]>;
  /** Returns the delivery ids that the log contains for an integration, in the order of the log. */
  readonly recorded: (hook?: string) => Promise<string[]>;
};

/** Defines a test that has its own event store, and its own platform with a spool. */
const live = (name: string, act: (stage: Stage) => Promise<void>) =>
  test(name, async () => {
    const store = await startStore();
    const log = openLog(store.url);
    afterTest(log.close);
    const given = await createWebhookPlatformOver(log, { spool: { dir: storeDir() } });
    afterTest(given.close);
    const deliver: Stage['deliver'] = async (id, hook = given.hook) => {
      const startedAt = performance.now();
      const { status } = await given.post(hook, JSON.stringify({ id }), { 'x-github-delivery': id });
      return [status, performance.now() - startedAt];
    };
    const recorded: Stage['recorded'] = async (hook = given.hook) =>
      (await Array.fromAsync(log.readAll()))
        .filter(({ type, meta }) => type === 'WebhookAccepted' && meta.facts?.integration_id === hook)
        .map(({ meta }) => meta.facts!.provider_delivery_id as string);
    equal((await deliver('first'))[0], 202);
    await act({ store, given, deliver, recorded });
  });

const freeze = (store: StoreProcess): (() => void) => {
  process.kill(store.pid, 'SIGSTOP');
  const thaw = (): void => void process.kill(store.pid, 'SIGCONT');
  afterTest(thaw);
  return thaw;
};

const isDrained =
  ({ given }: Stage) =>
  async (): Promise<boolean> =>
    given.spool!.status().rows === 0;

/** Returns the delivery ids (d-<number>) that come later in the list than an id with a higher number. */
const inversions = (ids: readonly string[]): string[] => {
  let highest = -1;
  return ids.filter((id) => {
    const number = Number(id.split('-')[1] ?? -1);
    const isLate = number < highest;
    highest = Math.max(highest, number);
    return isLate;
  });
};

type Answers = (readonly [status: number, ms: number])[];

/** Sends deliveries, one every 20 ms. @returns the status and the response time of each */
const deliverMany = async ({ deliver }: Stage, count: number): Promise<Answers> => {
  const pending: ReturnType<Stage['deliver']>[] = [];
  for (let n = 0; n < count; n++) {
    pending.push(deliver(`d-${n}`));
    await pause(20);
  }
  return Promise.all(pending);
};

const assertAccepted = (answers: Answers): void => {
  equal([...new Set(answers.map(([status]) => status))], [202]);
  const slowest = Math.max(...answers.map(([, ms]) => ms));
  ok(slowest < MAX_ANSWER_MS * loadFactor(), `an answer took ${slowest} ms`);
};

// The store is frozen until all deliveries were sent, one every 20 ms. Depending on their number, this ends before, at
// about, or after the time limit of the first attempts to append.
for (const count of [20, 40, 100, 170])
  live(
    `while the store does not answer, each of ${count} deliveries gets 202 within 900 ms, and is recorded once and in order afterwards`,
    async (stage) => {
      const thaw = freeze(stage.store);
      const answering = deliverMany(stage, count);
      await pause(20 * count + 100);
      thaw();
      assertAccepted(await answering);
      await eventually('the spool is empty', isDrained(stage));
      const ids = await stage.recorded();
      equal([inversions(ids), ids.length], [[], count + 1]);
      // The event store may have executed some of the first attempts although they got no answer. It recognises the ids
      // of their events, so every delivery must be reported as recorded. A short freeze can end before any was spooled.
      equal([...new Set(['recorded', ...stage.given.drained])], ['recorded']);
      ok(count < 40 || stage.given.drained.length > 0);
      equal((await stage.deliver('d-5'))[0], 200);
    },
  );

live(
  'while the store is killed and started again, each delivery gets 202 or 200 in time, and is recorded once and in order',
  async (stage) => {
    const { store } = stage;
    const answering = deliverMany(stage, 150);
    await pause(500);
    await store.end('SIGKILL');
    await pause(1_200);
    await startStore({ dir: store.dir, port: store.port });
    assertAccepted(await answering);
    await eventually('the spool is empty', isDrained(stage));
    const ids = await stage.recorded();
    equal([inversions(ids), ids.length], [[], 151]);
  },
);

live(
  'if a process ends, another one records the deliveries in its spool; if that process ends too, a third one records them',
  async (stage) => {
    const { store, given } = stage;
    const connect = () => {
      const log = openLog(store.url);
      afterTest(log.close);
      return log;
    };
    const other = await given.startSecondProcess(connect());
    afterTest(other.close);
    const thaw = freeze(store);
    assertAccepted(await deliverMany(stage, 60));
    await given.spool!.close();
    await eventually('the other process has taken over', () => other.spool!.status().rows === 60);
    thaw();
    await eventually('some are recorded', () => other.spool!.status().rows < 60);
    await other.ports.close();
    await other.spool!.close();
    const third = await given.startSecondProcess(connect());
    afterTest(third.close);
    await eventually('the spool is empty', () => third.spool!.status().rows === 0);
    const ids = await stage.recorded();
    equal([inversions(ids), ids.length], [[], 61]);
  },
);

live(
  'a process that was started before an outage of the event store accepts deliveries of integrations that it has not used before',
  async (stage) => {
    const { store, given } = stage;
    await given.waitForProjections();
    const log = openLog(store.url);
    afterTest(log.close);
    const other = await given.startSecondProcess(log);
    afterTest(other.close);
    const warming = startIntegrationWarming({ reads: other.reads, prepare: other.ports.prepare, logger: silentLogger });
    afterTest(warming.close);
    await warming.warmed;
    const thaw = freeze(store);
    const startedAt = performance.now();
    const body = JSON.stringify({ id: 'during' });
    const headers = { 'x-github-delivery': 'during', 'x-hub-signature-256': sign(body) };
    equal((await other.post(given.hook, body, headers)).status, 202);
    ok(performance.now() - startedAt < MAX_ANSWER_MS * loadFactor());
    thaw();
    await eventually('the spool is empty', () => other.spool!.status().rows === 0);
    equal(await stage.recorded(), ['first', 'during']);
  },
);

test.run();
