import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Position } from '../../domain/event.ts';
import type { CountProgress } from '../../domain/tenants/tenant-erasure.ts';
import { countTenantEvents } from '../../infra/erasure/erasure-ports.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

const AGENTS = 40;

/**
 * Creates a log with streams and encryption keys of the tenant acme, and with streams of another tenant. `until` is the
 * position up to which events are counted. The log has later events of acme, too.
 */
const given = async () => {
  const log = memoryLog();
  const append = (stream: string, tenant: string, count: number): Promise<{ position: Position }> => {
    const meta = { tenant, actor: { kind: 'system', id: 'test' } as const, at: '2026-11-23T09:00:00.000Z', v: 1 };
    return log.append(
      stream,
      'none',
      Array.from({ length: count }, () => ({ id: randomUUID(), type: 'Happened', data: {}, meta })),
    );
  };
  await append('key-acme.vault', 'acme', 2);
  for (let index = 0; index < AGENTS; index++) {
    await append(`agent-acme.a${index}`, 'acme', 3);
    await append(`agent-other.a${index}`, 'other', 1);
  }
  const { position: until } = await append('tenant-other.end', 'other', 1);
  await append('agent-acme.late', 'acme', 5);
  return { log, until };
};

test("the count of a tenant's events includes neither events after the given position nor events of encryption keys or of other tenants", async () => {
  const { log, until } = await given();
  const counted = await countTenantEvents(log, 'acme', { progress: null, until });
  assert.equal(counted, { counts: { streams: AGENTS, events: AGENTS * 3 }, progress: null });
});

test('a count of events that runs out of time is continued where it stopped, and yields the same sum as an uninterrupted one', async () => {
  const { log, until } = await given();
  const slow: typeof log = {
    ...log,
    follow: (follower) =>
      log.follow({
        ...follower,
        event: async (event) => {
          await new Promise((resolve) => setTimeout(resolve, 2));
          await follower.event(event);
        },
      }),
  };
  let progress: CountProgress | null = null;
  let calls = 0;
  for (;;) {
    const counted = await countTenantEvents(slow, 'acme', { progress, until }, 20);
    calls += 1;
    if (!counted.progress) {
      assert.equal(counted.counts, { streams: AGENTS, events: AGENTS * 3 });
      break;
    }
    // On a busy machine, a call may have time only for events of the other tenant. A count that starts again never ends.
    assert.ok(counted.progress.events >= ((progress as CountProgress | null)?.events ?? 0), 'no call counts less');
    progress = counted.progress;
  }
  assert.ok(calls > 2, `${calls} calls`);
});

test('a count of events fails without a result if the event store sends nothing within the time limit', async () => {
  const { log, until } = await given();
  const silent: typeof log = {
    ...log,
    follow: () => ({ stop: async () => {}, position: () => undefined, failure: new Promise(() => {}) }),
  };
  const failure = await countTenantEvents(silent, 'acme', { progress: null, until }, 20).catch(({ kind }: { kind: string }) => kind);
  assert.is(failure, 'unavailable');
});

test.run();
