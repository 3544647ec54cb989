import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Decision, fold } from '../../domain/aggregate.ts';
import { type Recorded, streamName } from '../../domain/event.ts';
import * as Session from '../../domain/sessions/session.ts';
import { openAggregateCache } from '../../infra/aggregates/aggregate-cache.ts';
import { createTransact } from '../../infra/aggregates/transact.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { startStore } from '../fixtures/store-process.ts';

const TENANT = `c${'t'.repeat(24)}`;
const MESSAGES = 10_000;
const MESSAGES_PER_APPEND = 16;
const MEASURED = 200;
const MAX_COLD_MS = 500;
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
  attachment_ids: [],
  sealed_content: CONTENT,
});
const usage = { model_id: null, prompt_tokens: 1, completion_tokens: 1, cost_micros: 1 };

/** Wraps a log to count its reads, and the events that these reads return. */
const countReads = (log: Log) => {
  const counts = { reads: 0, events: 0 };
  const counting: Log = {
    ...log,
    read: async function* (...call) {
      counts.reads++;
      for await (const event of log.read(...call)) {
        counts.events++;
        yield event;
      }
    },
  };
  return { counts, log: counting };
};

/** Simulates a process that has just started: no session is in its cache. */
const coldProcess = (log: Log) => {
  const cache = openAggregateCache(log, []);
  const transact = createTransact(log, cache);
  const decide = (id: string, decision: Decision<Session.Session, Session.SessionEvent>) =>
    transact({ aggregate: Session, tenant: TENANT, id, decide: decision, meta: META, seed: randomUUID() });
  return { cache, decide, append: (id: string) => decide(id, Session.appendMessage(message(), usage, AT)) };
};

/** Starts a session and appends this number of messages with usage to it. */
const startSession = async ({ decide }: ReturnType<typeof coldProcess>, id: string, messages: number): Promise<void> => {
  await decide(id, Session.start(started));
  const append = Session.appendMessage(message(), usage, AT);
  for (let left = messages; left > 0; left -= MESSAGES_PER_APPEND)
    await decide(id, (session) => Array.from({ length: Math.min(left, MESSAGES_PER_APPEND) }, () => append(session)).flat());
};

const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1]!;

/** Runs a function. @returns its result, and its duration in milliseconds */
const timed = async <T>(run: () => Promise<T>): Promise<[T, number]> => {
  const start = performance.now();
  const result = await run();
  return [result, performance.now() - start];
};

test('appending a message to a session with 10,000 messages takes no longer than appending one to a new session, even in a new process', async () => {
  const store = await startStore();
  const opened = openLog(store.url);
  const { log, counts } = countReads(opened);
  const [long, short] = [idOf('l'), idOf('s')];
  const earlier = coldProcess(log);
  await startSession(earlier, long, MESSAGES);
  await startSession(earlier, short, 0);

  const { cache, append } = coldProcess(log);
  await append(short);
  Object.assign(counts, { reads: 0, events: 0 });
  const [first, cold] = await timed(() => append(long));
  assert.equal([first.state.message_count, first.revision], [MESSAGES + 1, 2 * MESSAGES + 2]);
  assert.is(counts.reads, 1);
  assert.ok(counts.events <= 2 * Session.snapshots.interval, `${counts.events} events are read`);
  const all = (await Array.fromAsync(opened.read(streamName(Session.category, TENANT, long)))) as Recorded<Session.SessionEvent>[];
  assert.equal(first.state, fold(Session, all));

  Object.assign(counts, { reads: 0, events: 0 });
  const measure = async (id: string): Promise<number> => {
    const times: number[] = [];
    for (let index = 0; index < MEASURED; index++) times.push((await timed(() => append(id)))[1]);
    return median(times);
  };
  const ofShort = await measure(short);
  const ofLong = await measure(long);
  assert.is(counts.reads, 0, 'no stream is read');
  console.log(
    `a message to a new session: ${ofShort.toFixed(2)} ms; after ${MESSAGES} messages: ${ofLong.toFixed(2)} ms; the first one in a new process: ${cold.toFixed(0)} ms`,
  );
  assert.ok(ofLong < ofShort * 2 + 2, `${ofLong} ms instead of ${ofShort} ms`);
  assert.ok(cold < MAX_COLD_MS, `the first message took ${cold} ms`);
  await cache.close();
  await opened.close();
  await store.end();
});

test.run();
