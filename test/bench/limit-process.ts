import { randomBytes, randomUUID } from 'node:crypto';
import { EventStoreDBClient, NO_STREAM } from '@eventstore/db-client';
import { connect, credsAuthenticator, headers, StorageType } from 'nats';
import pg from 'pg';
import { type Figures, figuresOf, histogram, record } from './load.ts';
import { sendResult } from './measure.ts';
import { pushBody } from './payload.ts';

type Duration = { readonly warmup: number; readonly seconds: number };

export type LimitJob = Duration &
  (
    | { readonly kind: 'append'; readonly url: string; readonly atOnce: number }
    | { readonly kind: 'select'; readonly url: string; readonly atOnce: number; readonly sql: string; readonly keys: readonly string[][] }
    | { readonly kind: 'publish'; readonly url: string; readonly credentials: string; readonly rate: number }
  );

type Kind<K extends LimitJob['kind']> = Extract<LimitJob, { kind: K }>;

const CONNECTIONS = 8;
const BODY = Buffer.from(pushBody(1));

/** Runs a task repeatedly, `count` runs at a time, and measures the duration of each run. */
const measureConcurrently = async (
  count: number,
  { warmup, seconds }: Duration,
  task: (number: number) => Promise<unknown>,
): Promise<Figures> => {
  const times = histogram();
  const from = performance.now() + warmup * 1_000;
  const until = from + seconds * 1_000;
  let number = 0;
  const worker = async (): Promise<void> => {
    for (let startedAt = performance.now(); startedAt < until; startedAt = performance.now()) {
      await task(number++);
      const now = performance.now();
      if (startedAt >= from && now <= until) record(times, now - startedAt);
    }
  };
  await Promise.all(Array.from({ length: count }, worker));
  return figuresOf(times, seconds);
};

/** Measures the event store's client: appends events with 2 KB of binary data, each to a new stream. */
const append = async (job: Kind<'append'>): Promise<Figures> => {
  const client = EventStoreDBClient.connectionString(job.url as never);
  const run = randomBytes(8).toString('hex');
  const metadata = Buffer.from(JSON.stringify({ tenant: run, at: new Date().toISOString(), v: 1, facts: { sha256: run.repeat(4) } }));
  const event = () =>
    ({ id: randomUUID(), type: 'WebhookAccepted', contentType: 'application/octet-stream', data: BODY, metadata }) as const;
  const figures = await measureConcurrently(job.atOnce, job, (number) =>
    client.appendToStream(`delivery-${run}.${number}`, event(), { expectedRevision: NO_STREAM }),
  );
  await client.dispose();
  return figures;
};

/** Measures the database driver: runs one prepared statement with random keys. */
const select = async (job: Kind<'select'>): Promise<Figures> => {
  const pool = new pg.Pool({ connectionString: job.url, max: CONNECTIONS });
  const key = (): string[] => job.keys[Math.floor(Math.random() * job.keys.length)]!;
  const query = async (): Promise<void> => {
    const { rowCount } = await pool.query({ name: 'limit', text: job.sql, values: key() });
    if (rowCount !== 1) throw new Error('the rows to select do not exist');
  };
  const figures = await measureConcurrently(job.atOnce, job, query);
  await pool.end();
  return figures;
};

/**
 * Measures the broker with a stream on disk. The time of a message is measured from the moment at which it is due to be
 * published until a subscriber receives it.
 */
const publish = async (job: Kind<'publish'>): Promise<Figures> => {
  const nats = await connect({ servers: job.url, authenticator: credsAuthenticator(Buffer.from(job.credentials)) });
  const { streams } = await nats.jetstreamManager();
  await streams.add({ name: 'LIMIT', subjects: ['limit.>'], storage: StorageType.File });
  const times = histogram();
  const due = new Map<string, number>();
  nats.subscribe('limit.>', {
    callback: (_, message) => record(times, performance.now() - (due.get(message.headers?.get('Nats-Msg-Id') ?? '') ?? Number.NaN)),
  });
  const startedAt = performance.now();
  for (let number = 0; number < (job.warmup + job.seconds) * job.rate; number++) {
    const at = startedAt + (number / job.rate) * 1_000;
    while (performance.now() < at) await new Promise((resolve) => setTimeout(resolve, 1));
    const head = headers();
    head.set('Nats-Msg-Id', String(number));
    due.set(String(number), at);
    await nats.jetstream().publish('limit.one', BODY, { headers: head });
  }
  await streams.delete('LIMIT');
  await nats.close();
  return figuresOf(times, job.warmup + job.seconds);
};

const measure = (job: LimitJob): Promise<Figures> => {
  switch (job.kind) {
    case 'append':
      return append(job);
    case 'select':
      return select(job);
    case 'publish':
      return publish(job);
  }
};

process.once('message', async (job: LimitJob) => sendResult(await measure(job)));
