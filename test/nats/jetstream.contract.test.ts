import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AckPolicy, type Consumer, connect, jwtAuthenticator, type NatsConnection } from 'nats';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { OutgoingMessage } from '../../commands/runners/relay.reactor.ts';
import { createChainedPublisher, type ExpectedLastMessage } from '../../infra/nats/chained-publisher.ts';
import { connectNats } from '../../infra/nats/connect.ts';
import { ensureStream, manager } from '../../infra/nats/jetstream.ts';
import { errorCode, isWrongSequence } from '../../infra/nats/jetstream-errors.ts';
import { createUserCredentials } from '../../infra/nats/jwt.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { deadline } from '../fixtures/load-factor.ts';
import { services } from '../fixtures/test-services.ts';

// These tests check whether a NATS server meets the platform's requirements. NATS_URL selects the server; if it is not
// set, this file starts one. A selected server may have the streams of a platform, so the streams of these tests have
// unique names and are deleted at the end.
const address = await services();
const nats = await connectNats(address);
const { streams, consumers } = await manager(nats);
const run = randomBytes(4).toString('hex').toUpperCase();
const NAME = `ANNALS_TEST_${run}`;
const ADVISORIES = `${NAME}_NOTICES`;
const subject = (name: string): string => `annals-test-${run}.${name}`;
const config = { name: NAME, subjects: [subject('>')], allow_direct: true };
const encoder = new TextEncoder();

const outgoing = (n: number): OutgoingMessage => ({
  id: `${run}-${n}`,
  token: `${n}:${n}`,
  subject: subject(`a.${n % 2}`),
  delivery: `d-${n}`,
  payload: encoder.encode(String(n)),
});

/**
 * Publishes messages, each on the condition that the message before it is the last one in the stream. `expectedLast` is
 * the message that must be the last one before the first of them is published. @throws Error if a message was not
 * stored
 */
const publish = async (expectedLast: ExpectedLastMessage, messages: readonly OutgoingMessage[]): Promise<void> => {
  let count = 0;
  const publisher = createChainedPublisher(nats, expectedLast, (batch) => {
    count += batch.length;
  });
  for (const message of messages) await publisher.add(message);
  await Promise.race([publisher.idle(), publisher.failed]);
  if (count < messages.length) await publisher.failed;
};

const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);
const lastSequence = async (name: string): Promise<number> => (await streams.info(name)).state.last_seq;

const eventually = async (what: string, isTrue: () => Promise<boolean>): Promise<void> => {
  for (const isOver = deadline(10_000); !(await isTrue()); await sleep(20))
    if (isOver()) throw new Error(`this never became true: ${what}`);
};

const settle = async (consumer: Consumer, reply: 'ack' | 'term'): Promise<void> => {
  const message = await consumer.next({ expires: 5_000 });
  message![reply]();
  await nats.flush();
};

test('ensureStream creates a JetStream stream, and updates the configuration of the stream if it exists', async () => {
  const kinds = ['METRIC.CONSUMER.ACK', 'ADVISORY.CONSUMER.MSG_TERMINATED'].map((kind) => `$JS.EVENT.${kind}.${NAME}.>`);
  await ensureStream(nats, { name: ADVISORIES, subjects: kinds });
  await ensureStream(nats, config);
  const { config: current } = await ensureStream(nats, { ...config, max_msgs: 10_000 });
  assert.equal([current.max_msgs, current.subjects], [10_000, config.subjects]);
  // The platform must not set metadata: servers before version 2.10 do not support it, and the client would throw an
  // error instead of sending it to them.
  assert.equal(
    Object.keys(current.metadata ?? {}).filter((name) => !name.startsWith('_nats')),
    [],
  );
});

test('a JetStream stream that an earlier version of Annals marked in its metadata is still recognised as created by Annals', async () => {
  const older = { name: `${NAME}_OLDER`, subjects: [`annals-older-${run}.>`] };
  await streams.add({ ...older, metadata: { 'made-by': 'annals' } });
  try {
    assert.is((await ensureStream(nats, { ...older, max_msgs: 10_000 })).config.max_msgs, 10_000);
  } finally {
    await streams.delete(older.name);
  }
});

test('a JetStream stream that another application created is not changed, and the error names the stream', async () => {
  const theirs = `${NAME}_THEIRS`;
  await streams.add({ name: theirs, subjects: [`annals-theirs-${run}.>`] });
  try {
    const before = (await streams.info(theirs)).config;
    const error = await ensureStream(nats, { ...config, name: theirs, subjects: ['elsewhere.>'] }).catch((thrown: Error) => thrown);
    assert.match((error as Error).message, `The stream ${theirs} on the broker was not created by Annals`);
    assert.equal((await streams.info(theirs)).config, before);
  } finally {
    await streams.delete(theirs);
  }
});

test('if each of several messages expects the message before it to be the last one in the JetStream stream, all are stored once and in order', async () => {
  await publish({ sequence: 0, messageId: null }, numbers(0, 700).map(outgoing));
  assert.is(await lastSequence(NAME), 700);
  const last = await streams.getMessage(NAME, { last_by_subj: subject('>') });
  assert.equal([last.seq, last.header.get('Annals-Position'), last.string()], [700, '699:699', '699']);
});

test('if the first of several messages expects a wrong last sequence number, none of the messages is stored', async () => {
  const error = await publish({ sequence: 650, messageId: null }, numbers(700, 3).map(outgoing)).catch((thrown: unknown) => thrown);
  assert.ok(isWrongSequence(error), String(error));
  assert.is(await lastSequence(NAME), 700);
  await publish({ sequence: 700, messageId: null }, [outgoing(700)]);
  assert.is(await lastSequence(NAME), 701);
});

test('a durable consumer gets the messages of its subject; the acknowledgements of these messages are stored as advisories in a second JetStream stream', async () => {
  const settings = { durable_name: 'one', filter_subject: subject('a.1'), ack_policy: AckPolicy.Explicit, sample_freq: '100%' };
  await consumers.add(NAME, settings);
  const consumer = await nats.jetstream().consumers.get(NAME, 'one');
  await settle(consumer, 'ack');
  await settle(consumer, 'term');
  await eventually('both advisories', async () => (await lastSequence(ADVISORIES)) === 2);
  const captured = await Promise.all([1, 2].map((seq) => streams.getMessage(ADVISORIES, { seq })));
  assert.equal(
    captured.map((message) => message.json<{ stream_seq: number }>().stream_seq),
    [2, 4],
  );
  await streams.purge(ADVISORIES, { seq: 2 });
  assert.is((await streams.info(ADVISORIES)).state.messages, 1);
});

const connectAsUser = (accountSeed: string): Promise<NatsConnection> => {
  const inbox = `_INBOX_${run}`;
  const allowed = { publish: { allow: [`$JS.API.CONSUMER.MSG.NEXT.${NAME}.one`] }, subscribe: { allow: [`${inbox}.>`] } };
  const user = createUserCredentials({ accountSeed, name: inbox, permissions: allowed, expiresAt: new Date(Date.now() + 60_000) });
  const authenticator = jwtAuthenticator(user.jwt, encoder.encode(user.seed));
  return connect({ servers: address.natsUrl.split(',').map((url) => new URL(url.trim()).host), authenticator, inboxPrefix: inbox });
};

test('if another process stores a message first, none of several messages is stored that expect an earlier message to be the last one', async () => {
  const end = await lastSequence(NAME);
  await nats.jetstream().publish(subject('faster'));
  const error = await publish({ sequence: end, messageId: null }, numbers(800, 700).map(outgoing)).catch((thrown: unknown) => thrown);
  assert.ok(isWrongSequence(error), String(error));
  assert.is(await lastSequence(NAME), end + 1);
});

test("a user that was created with the account's seed has only the permissions in its JWT", async () => {
  const { natsAccountSeed } = address;
  if (!natsAccountSeed) return console.log('skipped: no NATS_ACCOUNT_SEED');
  const user = await connectAsUser(natsAccountSeed);
  try {
    if (!user.info?.auth_required) return console.log('skipped: this broker requires no authentication');
    const next = await user.request(`$JS.API.CONSUMER.MSG.NEXT.${NAME}.one`, '1', { noMux: true, timeout: 5_000 });
    assert.is(next.subject, subject('a.1'));
    await user.request(`$JS.API.STREAM.INFO.${NAME}`, '', { timeout: 500 }).then(
      () => assert.unreachable('a request without permission was answered'),
      () => {},
    );
  } finally {
    await user.close();
  }
});

afterLastTest(async () => {
  for (const name of [NAME, ADVISORIES]) await streams.delete(name);
  const error = await streams.info(NAME).catch((thrown: unknown) => thrown);
  assert.is(errorCode(error), 10_059);
  await nats.close();
});

test.run();
