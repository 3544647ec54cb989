import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { Draft } from '../../commands/sessions/draft.ts';
import { openSessionDrafts } from '../../infra/nats/session-drafts.ts';
import { waitUntil, withNatsServer } from '../fixtures/nats-server.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

type Limits = Parameters<typeof openSessionDrafts>[1];

const draft = (content: string): Draft => ({ content, after: null, stopped_position: null, updated_at: '2026-01-01T00:00:00.000Z' });
const ref = (session_id: string, tenant = 't') => ({ tenant, session_id });

/** Opens the drafts of `count` processes. */
const withProcesses = (count: number, limits: Limits, body: (...processes: ReturnType<typeof openSessionDrafts>[]) => Promise<void>) =>
  withNatsServer(async ({ connect }) => {
    const processes = await Promise.all(
      Array.from({ length: count }, async () => {
        const nats = await connect();
        const opened = openSessionDrafts({ connection: async () => nats, whenConnected: async () => nats, isHealthy: () => true }, limits);
        await sleep(0);
        await nats.flush();
        return opened;
      }),
    );
    await body(...processes);
  });

test(
  'each process shows the draft that any process has set, and tells those who watch the session',
  withProcesses(2, {}, async (one, other) => {
    let changes = 0;
    const stop = other!.watch(ref('s'), () => void changes++);
    await one!.put(ref('s'), draft('a'));
    assert.is(one!.get(ref('s'))?.content, 'a', 'the process that has set it shows it at once');
    await waitUntil(() => other!.get(ref('s'))?.content === 'a');
    await other!.put(ref('s'), draft('ab'));
    await waitUntil(() => one!.get(ref('s'))?.content === 'ab');
    await one!.put(ref('other'), draft('x'));
    await one!.put(ref('s'), null);
    await waitUntil(() => other!.get(ref('s')) === null);
    assert.is(changes, 3);
    stop();
    await one!.put(ref('s'), draft('b'));
    await waitUntil(() => other!.get(ref('s')) !== null);
    assert.is(changes, 3);
  }),
);

test(
  'a draft that is not set again expires, and one that is set again does not',
  withProcesses(1, { lifetimeMs: 300 }, async (drafts) => {
    let changes = 0;
    drafts!.watch(ref('old'), () => void changes++);
    await drafts!.put(ref('old'), draft('a'));
    await drafts!.put(ref('kept'), draft('a'));
    for (let count = 0; count < 4; count++) {
      await sleep(100);
      await drafts!.put(ref('kept'), draft('a'));
    }
    assert.equal([drafts!.get(ref('old')), drafts!.get(ref('kept'))?.content, changes], [null, 'a', 2]);
  }),
);

test(
  'the drafts of a tenant, and of all tenants, keep within their bytes: the oldest are dropped',
  withProcesses(1, { maxTenantBytes: 3_000, maxBytes: 5_000 }, async (drafts) => {
    const text = 'a'.repeat(1_000);
    for (const id of ['a', 'b', 'c']) await drafts!.put(ref(id), draft(text));
    assert.equal(
      ['a', 'b', 'c'].map((id) => drafts!.get(ref(id)) !== null),
      [false, true, true],
    );
    for (const id of ['a', 'b']) await drafts!.put(ref(id, 'u'), draft(text));
    await drafts!.put(ref('a', 'v'), draft(text));
    assert.equal([drafts!.get(ref('b')), drafts!.get(ref('a', 'u')), drafts!.get(ref('a', 'v'))].map(Boolean), [false, true, true]);
  }),
);

test(
  'a tenant that sets too many drafts in a second is refused; others are not',
  withProcesses(1, { maxRate: 3 }, async (drafts) => {
    for (let count = 0; count < 3; count++) drafts!.admit('t');
    assert.throws(
      () => Array.from({ length: 6 }, () => drafts!.admit('t')),
      (error: { code: string }) => error.code === 'rate_limited',
    );
    drafts!.admit('u');
  }),
);

test('without the broker, a draft is refused as unavailable', () =>
  withNatsServer(async ({ connect }) => {
    const nats = await connect();
    const drafts = openSessionDrafts({ connection: async () => nats, whenConnected: async () => nats, isHealthy: () => false });
    const refusal = await drafts.put(ref('s'), draft('a')).catch((error: Error) => error);
    assert.match((refusal as Error).message, /broker cannot be reached/);
  })());

test.run();
