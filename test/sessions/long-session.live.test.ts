import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { streamName } from '../../domain/event.ts';
import * as Session from '../../domain/sessions/session.ts';
import { openAggregateCache } from '../../infra/aggregates/aggregate-cache.ts';
import { createTransact } from '../../infra/aggregates/transact.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { startStore } from '../fixtures/store-process.ts';

const TENANT = `c${'t'.repeat(24)}`;
const MESSAGES = 10_000;
const BATCH = 250;
const MEASURED = 200;
const CONTENT = 'x'.repeat(2_000);
const idOf = (letter: string): string => letter.padStart(25, 'c');
const AT = new Date().toISOString();
const META = { tenant: TENANT, actor: { kind: 'agent', id: idOf('a') } as const, at: AT, v: 1 };

const started = {
  agent_id: idOf('a'),
  title: null,
  delivery_id: null,
  cron_occurrence_id: null,
  user_id: null,
  expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  agent_revision: 0,
  model_ids: [],
  model_id: null,
  position: '1:1',
};
const message = (): Session.NewMessage => ({
  message_id: idOf('m'),
  role: 'assistant',
  kind: null,
  model_id: null,
  sealed_content: CONTENT,
});
const usage = { model_id: null, prompt_tokens: 1, completion_tokens: 1, cost_micros: 1 };

/** Starts a session with this number of messages, each with its usage. */
const startSession = async (log: Log, id: string, messages: number): Promise<void> => {
  const stream = streamName(Session.category, TENANT, id);
  const events = [
    ...Session.start(started)(),
    ...Array.from({ length: messages }, () =>
      Session.appendMessage(message(), usage, AT)({ ...Session.initial, ...started, status: 'running' }),
    ).flat(),
  ];
  for (let from = 0; from < events.length; from += BATCH) {
    const batch = events.slice(from, from + BATCH).map(({ type, data }) => ({ id: randomUUID(), type, data, meta: META }));
    await log.append(stream, from === 0 ? 'none' : from - 1, batch);
  }
};

const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1]!;

test('a message to a session of 10,000 messages is appended without a read, as fast as to a new one', async () => {
  const store = await startStore();
  const opened = openLog(store.url);
  let reads = 0;
  const log: Log = {
    ...opened,
    read: (...call) => {
      reads++;
      return opened.read(...call);
    },
  };
  const transact = createTransact(log, openAggregateCache(log, []));
  const append = (id: string) =>
    transact({
      aggregate: Session,
      tenant: TENANT,
      id,
      decide: Session.appendMessage(message(), usage, AT),
      meta: META,
      seed: randomUUID(),
    });
  /** Appends messages, and returns the median time of one in milliseconds. */
  const measure = async (id: string): Promise<number> => {
    const times: number[] = [];
    for (let index = 0; index < MEASURED; index++) {
      const start = performance.now();
      await append(id);
      times.push(performance.now() - start);
    }
    return median(times);
  };
  const [long, short] = [idOf('l'), idOf('s')];
  await startSession(log, long, MESSAGES);
  await startSession(log, short, 0);
  const start = performance.now();
  const first = await append(long);
  const cold = performance.now() - start;
  await append(short);
  assert.equal([first.state.message_count, first.revision], [MESSAGES + 1, 2 * MESSAGES + 2]);
  reads = 0;
  const ofShort = await measure(short);
  const ofLong = await measure(long);
  assert.is(reads, 0, 'no stream is read');
  console.log(
    `a message to a new session: ${ofShort.toFixed(2)} ms; after ${MESSAGES} messages: ${ofLong.toFixed(2)} ms; the first one, which reads the session: ${cold.toFixed(0)} ms`,
  );
  assert.ok(ofLong < ofShort * 2 + 2, `${ofLong} ms instead of ${ofShort} ms`);
  await opened.close();
  await store.end();
});

test.run();
