import * as assert from 'uvu/assert';
import { BudgetExceeded, type Handler, type LiveRunnerSession } from '../../infra/runner/runner-client.ts';
import { eventIdOf } from '../fixtures/generated-log.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { areAcknowledged, consumerInfo, positionOf, withRunnerTest } from '../fixtures/runner-test.ts';
import { type Kind, send, startClient } from '../fixtures/session-messages.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const CHANGES = ['interrupted', 'cancelled', 'message'] as const;
type Change = (typeof CHANGES)[number];
type RunnerTest = Parameters<Parameters<typeof withRunnerTest>[1]>[0];

/** What a handler has seen: the events that it began to process, the messages that it took, and why it was stopped. */
const createRecorder = () => {
  const seen: string[] = [];
  const listen = async ({ messages, signal }: LiveRunnerSession): Promise<void> => {
    for await (const { content } of messages()) return void seen.push(`takes ${content}`);
    if (signal.aborted) seen.push(`is ${signal.reason.kind}`);
  };
  return { seen, listen };
};
const numberOf = (id: string): number => [0, 1, 2, 3].find((index) => eventIdOf(index) === id)!;

/** Runs the change while the first event waits or is processed. @returns what the handler has seen until all is settled */
type Situation = (runnerTest: RunnerTest, change: Change) => Promise<readonly string[]>;

/** The budget is used up when the handler has begun; the handler has already taken a message then. */
const waitsForBudget: Situation = async ({ nats, service, dir }, change) => {
  const { seen, listen } = createRecorder();
  Object.assign(service.budget, { limit_usd: 1, left_usd: 0.3 });
  let isAllowed = false;
  const handle: Handler = async ({ id, type }, { session, attempt }) => {
    seen.push(`begins ${numberOf(id)} (${attempt})`);
    if (type !== 'annals.session.started') return;
    await listen(session!);
    if (!isAllowed) throw new BudgetExceeded('used up', '2026-03-14T10:00:00.000Z', { limit_usd: 1, left_usd: 0.3 });
    if (change === 'message') await listen(session!);
  };
  const { lines } = await startClient(service.url, dir, handle);
  await send(nats, 0, 'started');
  await waitUntil(() => seen.length === 1);
  await send(nats, 1, 'message');
  await waitUntil(() => lines.some((line) => line.includes('budget of the agent is used up')));
  await send(nats, 2, change);
  if (change !== 'message') await waitUntil(() => areAcknowledged(nats, 1), undefined, 'the stop settles the event at once');
  isAllowed = true;
  Object.assign(service.budget, { left_usd: 1 });
  await waitUntil(() => areAcknowledged(nats, 3));
  return seen;
};

/** The event before the first one belongs to another runner, which has not settled it. */
const waitsForOrder: Situation = async ({ nats, service, dir }, change) => {
  const { seen, listen } = createRecorder();
  const handle: Handler = async ({ id, type }, { session }) => {
    seen.push(`begins ${numberOf(id)}`);
    if (type === 'annals.session.message') await listen(session!);
  };
  await startClient(service.url, dir, handle);
  await send(nats, 1, 'message');
  await send(nats, 2, change);
  await waitUntil(async () => (await consumerInfo(nats)).num_ack_pending === 2);
  service.settled.add(eventIdOf(0));
  await waitUntil(() => areAcknowledged(nats, 2));
  return seen;
};

const runs: Situation = async ({ nats, service, dir }, change) => {
  const { seen, listen } = createRecorder();
  const handle: Handler = async ({ id }, { session }) => {
    seen.push(`begins ${numberOf(id)}`);
    await listen(session!);
  };
  await startClient(service.url, dir, handle);
  await send(nats, 0, 'started');
  await waitUntil(() => seen.length === 1);
  await send(nats, 1, change);
  await waitUntil(() => areAcknowledged(nats, 2));
  return seen;
};

const STOPPED_WITHOUT_RUN = ['begins 0 (1)', 'takes text 1', 'begins 2 (1)'];
const cases: readonly (readonly [name: string, Situation, Readonly<Record<Change, readonly string[]>>])[] = [
  [
    'waits for the budget',
    waitsForBudget,
    {
      interrupted: STOPPED_WITHOUT_RUN,
      cancelled: STOPPED_WITHOUT_RUN,
      message: ['begins 0 (1)', 'takes text 1', 'begins 0 (1)', 'takes text 1', 'takes text 2'],
    },
  ],
  [
    'waits for the one before',
    waitsForOrder,
    { interrupted: ['begins 2'], cancelled: ['begins 2'], message: ['begins 1', 'takes text 2'] },
  ],
  [
    'is processed',
    runs,
    { interrupted: ['begins 0', 'is interrupted'], cancelled: ['begins 0', 'is cancelled'], message: ['begins 0', 'takes text 1'] },
  ],
];

for (const [name, situation, expected] of cases)
  for (const change of CHANGES satisfies readonly Kind[])
    test(
      `${change} while an event ${name}: no handler runs again after a stop, and messages are taken once more`,
      withRunnerTest({}, async (runnerTest) => assert.equal(await situation(runnerTest, change), expected[change])),
    );

/** Messages that are all at the broker when a runner starts that processes one at a time, so it has pulled only the first. */
const AT_THE_BROKER: readonly { readonly kinds: readonly Kind[]; readonly stop: number; readonly seen: readonly number[] }[] = [
  { kinds: ['started', 'interrupted'], stop: 1, seen: [1] },
  { kinds: ['started', 'cancelled'], stop: 1, seen: [1] },
  { kinds: ['started', 'message', 'interrupted', 'message'], stop: 2, seen: [2, 3] },
  { kinds: ['started', 'interrupted', 'cancelled'], stop: 2, seen: [2] },
];
for (const { kinds, stop, seen: expected } of AT_THE_BROKER)
  test(
    `${kinds.join(', ')}: messages from before a stop that the broker still has are settled without a run`,
    withRunnerTest({}, async ({ nats, service, dir }) => {
      const seen: number[] = [];
      for (const [index, kind] of kinds.entries()) await send(nats, index, kind);
      service.stopped.set('s', positionOf(stop));
      await startClient(service.url, dir, async ({ id }) => void seen.push(numberOf(id)));
      await waitUntil(() => areAcknowledged(nats, kinds.length));
      assert.equal(seen, expected);
    }),
  );

test(
  'a stop that the runner does not receive while an event waits for the budget settles it without another run',
  withRunnerTest({}, async ({ nats, service, dir }) => {
    let runs = 0;
    Object.assign(service.budget, { limit_usd: 1, left_usd: 0.3 });
    const { lines } = await startClient(service.url, dir, async () => {
      runs++;
      throw new BudgetExceeded('used up', '2026-03-14T10:00:00.000Z', { limit_usd: 1, left_usd: 0.3 });
    });
    await send(nats, 0, 'started');
    await waitUntil(() => lines.some((line) => line.includes('budget of the agent is used up')));
    service.stopped.set('s', positionOf(1));
    Object.assign(service.budget, { left_usd: 1 });
    await waitUntil(() => areAcknowledged(nats, 1));
    assert.is(runs, 1);
  }),
);

test.run();
