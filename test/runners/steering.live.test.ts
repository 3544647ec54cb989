import { once } from 'node:events';
import * as assert from 'uvu/assert';
import { type Handler, SessionStopped } from '../../infra/runner/runner-client.ts';
import { eventIdOf } from '../fixtures/generated-log.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { areAcknowledged, consumerInfo, withRunnerTest } from '../fixtures/runner-test.ts';
import { type Kind, send, startClient } from '../fixtures/session-messages.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

test(
  'a handler that listens gets messages at once, and the broker does not deliver them to it again',
  withRunnerTest({}, async ({ nats, service, dir }) => {
    const seen: string[] = [];
    await startClient(service.url, dir, async ({ id }, { session }) => {
      seen.push(`handles ${id}`);
      for await (const { content, user } of session!.messages()) {
        seen.push(`${user} says ${content}`);
        if (content === 'text 2') return;
      }
    });
    await send(nats, 0, 'started');
    await waitUntil(() => seen.length === 1);
    await send(nats, 1, 'message');
    await send(nats, 2, 'message');
    await waitUntil(() => areAcknowledged(nats, 3));
    assert.equal(seen, [`handles ${eventIdOf(0)}`, 'u says text 1', 'u says text 2']);
  }),
);

test(
  'a handler that does not listen gets messages as the next events, in their order',
  withRunnerTest({}, async ({ nats, service, dir }) => {
    const seen: string[] = [];
    await startClient(service.url, dir, async ({ id }) => {
      if (seen.length === 0) for (const index of [1, 2]) await send(nats, index, 'message');
      seen.push(id);
    });
    await send(nats, 0, 'started');
    await waitUntil(() => areAcknowledged(nats, 3));
    assert.equal(seen, [0, 1, 2].map(eventIdOf));
  }),
);

for (const kind of ['interrupted', 'cancelled'] as const)
  test(
    `a handler whose session is ${kind} is told at once, and its event is not tried again even if it throws`,
    withRunnerTest({}, async ({ nats, service, dir }) => {
      const reasons: unknown[] = [];
      let hasStarted = false;
      await startClient(service.url, dir, async (_, { session, attempt }) => {
        assert.is(attempt, 1);
        hasStarted = true;
        if (!session!.signal.aborted) await once(session!.signal, 'abort');
        reasons.push(session!.signal.reason);
        throw new Error('the work was stopped');
      });
      await send(nats, 0, 'started');
      await waitUntil(() => hasStarted);
      await send(nats, 1, kind);
      await waitUntil(() => areAcknowledged(nats, 2));
      assert.equal([reasons.length, (reasons[0] as SessionStopped).kind, reasons[0] instanceof SessionStopped], [1, kind, true]);
    }),
  );

test(
  'a handler is interrupted at once also while the budget is spent, when the runner pulls nothing',
  withRunnerTest({}, async ({ nats, service, dir }) => {
    Object.assign(service.budget, { limit_usd: 1, left_usd: 1 });
    const reasons: unknown[] = [];
    let hasStarted = false;
    const handle: Handler = async (_, { session }) => {
      hasStarted = true;
      if (!session!.signal.aborted) await once(session!.signal, 'abort');
      reasons.push((session!.signal.reason as SessionStopped).kind);
    };
    const { lines } = await startClient(service.url, dir, handle, 2);
    await send(nats, 0, 'started');
    await waitUntil(() => hasStarted);
    Object.assign(service.budget, { left_usd: 0 });
    await waitUntil(() => lines.some((line) => line.includes('budget of the agent is used up')));
    await send(nats, 1, 'interrupted');
    await waitUntil(() => reasons.length === 1);
    assert.equal([reasons, (await consumerInfo(nats)).delivered.consumer_seq], [['interrupted'], 1]);
    Object.assign(service.budget, { left_usd: 1 });
    await waitUntil(() => areAcknowledged(nats, 2));
    assert.is(reasons.length, 1, 'the interruption is not its own event');
  }),
);

test(
  'a runner that stops ends the wait of a handler for messages; the event stays to be processed again',
  withRunnerTest({}, async ({ nats, service, dir }) => {
    const errors: string[] = [];
    let hasStarted = false;
    const { stop } = await startClient(service.url, dir, async (_, { session }) => {
      const messages = session!.messages();
      hasStarted = true;
      await messages.next().catch((error: Error) => {
        errors.push(error.name);
        throw error;
      });
    });
    await send(nats, 0, 'started');
    await waitUntil(() => hasStarted);
    await stop();
    assert.equal(errors, ['AbortError']);
    assert.not.ok(await areAcknowledged(nats, 1));
  }),
);

test(
  'a command gets SIGTERM when its session is cancelled, and its event counts as processed',
  withRunnerTest({}, async ({ nats, start, lines }) => {
    const stop = start('trap "echo stopped >> out; exit 3" TERM; echo started >> out; while :; do sleep 0.1; done');
    await send(nats, 0, 'started');
    await waitUntil(() => lines().length === 1);
    await send(nats, 1, 'cancelled');
    await waitUntil(() => areAcknowledged(nats, 2));
    assert.equal(lines(), ['started', 'stopped']);
    await stop();
  }),
);

test(
  'a handler gets the messages after a decision that it has not asked for; the decision is the next event',
  withRunnerTest({}, async ({ nats, service, dir }) => {
    const seen: string[] = [];
    await startClient(service.url, dir, async ({ id, type }, { session }) => {
      seen.push(id);
      if (type === 'annals.session.decision') return;
      for await (const { content } of session!.messages()) return void seen.push(content!);
    });
    await send(nats, 0, 'started');
    await waitUntil(() => seen.length === 1);
    await send(nats, 1, 'decision');
    await send(nats, 2, 'message');
    await waitUntil(() => areAcknowledged(nats, 3));
    assert.equal(seen, [eventIdOf(0), 'text 2', eventIdOf(1)]);
  }),
);

const AFTER_OTHERS: readonly { readonly name: string; readonly kinds: readonly Kind[]; readonly seen: readonly string[] }[] = [
  { name: 'a handler gets the messages that already wait in the runner', kinds: ['message', 'message'], seen: [eventIdOf(1), 'text 2'] },
  {
    name: 'messages that were stopped while they waited are settled without a run',
    kinds: ['message', 'message', 'interrupted'],
    seen: [eventIdOf(3)],
  },
];
for (const { name, kinds, seen: expected } of AFTER_OTHERS)
  test(
    name,
    withRunnerTest({}, async ({ nats, service, dir }) => {
      const seen: string[] = [];
      for (const [index, kind] of kinds.entries()) await send(nats, index + 1, kind);
      await startClient(service.url, dir, async ({ id, type }, { session }) => {
        seen.push(id);
        if (type !== 'annals.session.message') return;
        for await (const { content } of session!.messages()) return void seen.push(content!);
      });
      await waitUntil(async () => (await consumerInfo(nats)).num_ack_pending === kinds.length);
      service.settled.add(eventIdOf(0));
      await waitUntil(() => areAcknowledged(nats, kinds.length));
      assert.equal(seen, expected);
    }),
  );

test(
  'messages before a stop that no handler has taken are no longer processed',
  withRunnerTest({}, async ({ nats, service, dir }) => {
    const seen: string[] = [];
    await startClient(service.url, dir, async ({ id }, { session }) => {
      seen.push(id);
      if (!session!.signal.aborted) await once(session!.signal, 'abort');
    });
    await send(nats, 0, 'started');
    await waitUntil(() => seen.length === 1);
    await send(nats, 1, 'message');
    await send(nats, 2, 'cancelled');
    await waitUntil(() => areAcknowledged(nats, 3));
    assert.equal(seen, [eventIdOf(0)]);
  }),
);

test.run();
