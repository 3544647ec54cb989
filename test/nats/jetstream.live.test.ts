import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AckPolicy, type Consumer, connect, jwtAuthenticator, type NatsConnection } from 'nats';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { OutgoingMessage } from '../../commands/runners/relay.reactor.ts';
import { createChainedPublisher, type ExpectedLastMessage } from '../../infra/nats/chained-publisher.ts';
import { connectNats } from '../../infra/nats/connect.ts';
import { ensureStream, errorCode, isWrongSequence, manager } from '../../infra/nats/jetstream.ts';
import { newUser } from '../../infra/nats/jwt.ts';
import { services } from '../fixtures/test-services.ts';

// What the platform asks of a broker, whichever it is: NATS_URL names another one. The platform's own streams bear fixed names and
// may be in use there; these bear a name that nobody else has, and go when the tests are over.
const address = await services();
const nats = await connectNats(address);
const { streams, consumers } = await manager(nats);
const run = randomBytes(4).toString('hex').toUpperCase();
const NAME = `ANNALS_TEST_${run}`;
const NOTICES = `${NAME}_NOTICES`;
const subject = (name: string): string => `annals-test-${run}.${name}`;
const config = { name: NAME, subjects: [subject('>')], allow_direct: true };
const tokens = new TextEncoder();

const outgoing = (n: number): OutgoingMessage => ({
  id: `${run}-${n}`,
  token: `${n}:${n}`,
  subject: subject(`a.${n % 2}`),
  delivery: `d-${n}`,
  payload: tokens.encode(String(n)),
});

const sent = async (tip: ExpectedLastMessage, messages: readonly OutgoingMessage[]): Promise<void> => {
  let count = 0;
  const box = createChainedPublisher(nats, tip, (batch) => {
    count += batch.length;
  });
  for (const message of messages) await box.add(message);
  await Promise.race([box.idle(), box.failed]);
  if (count < messages.length) await box.failed;
};

const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);
const lastSequence = async (name: string): Promise<number> => (await streams.info(name)).state.last_seq;

const eventually = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
  for (const end = Date.now() + 10_000; !(await holds()); await sleep(20))
    if (Date.now() > end) throw new Error(`never came true: ${what}`);
};

const settle = async (consumer: Consumer, word: 'ack' | 'term'): Promise<void> => {
  const message = await consumer.next({ expires: 5_000 });
  message![word]();
  await nats.flush();
};

test('a stream is made, and what was made before is brought to another configuration', async () => {
  const kinds = ['METRIC.CONSUMER.ACK', 'ADVISORY.CONSUMER.MSG_TERMINATED'].map((kind) => `$JS.EVENT.${kind}.${NAME}.>`);
  await ensureStream(nats, { name: NOTICES, subjects: kinds });
  await ensureStream(nats, config);
  const { config: have } = await ensureStream(nats, { ...config, max_msgs: 10_000 });
  assert.equal([have.max_msgs, have.subjects], [10_000, config.subjects]);
  // Servers before 2.10 keep no metadata, and the client refuses to send them any.
  assert.equal(
    Object.keys(have.metadata ?? {}).filter((name) => !name.startsWith('_nats')),
    [],
  );
});

test('a stream that we made when the mark stood in its metadata is still ours', async () => {
  const older = { name: `${NAME}_OLDER`, subjects: [`annals-older-${run}.>`] };
  await streams.add({ ...older, metadata: { 'made-by': 'annals' } });
  try {
    assert.is((await ensureStream(nats, { ...older, max_msgs: 10_000 })).config.max_msgs, 10_000);
  } finally {
    await streams.delete(older.name);
  }
});

test('a stream that somebody else made is left as it is, and the refusal names it', async () => {
  const theirs = `${NAME}_THEIRS`;
  await streams.add({ name: theirs, subjects: [`annals-theirs-${run}.>`] });
  try {
    const before = (await streams.info(theirs)).config;
    const error = await ensureStream(nats, { ...config, name: theirs, subjects: ['elsewhere.>'] }).catch((thrown: Error) => thrown);
    assert.match((error as Error).message, `the stream ${theirs} on the broker is somebody else's`);
    assert.equal((await streams.info(theirs)).config, before);
  } finally {
    await streams.delete(theirs);
  }
});

test('a chain of messages is taken whole and in order, once', async () => {
  await sent({ sequence: 0, messageId: null }, numbers(0, 700).map(outgoing));
  assert.is(await lastSequence(NAME), 700);
  const last = await streams.getMessage(NAME, { last_by_subj: subject('>') });
  assert.equal([last.seq, last.header.get('Annals-Position'), last.string()], [700, '699:699', '699']);
});

test('who thinks that the stream ends elsewhere is refused, and nothing of it is taken', async () => {
  const error = await sent({ sequence: 650, messageId: null }, numbers(700, 3).map(outgoing)).catch((thrown: unknown) => thrown);
  assert.ok(isWrongSequence(error), String(error));
  assert.is(await lastSequence(NAME), 700);
  await sent({ sequence: 700, messageId: null }, [outgoing(700)]);
  assert.is(await lastSequence(NAME), 701);
});

test('a durable consumer gets the messages of its subject, and what it says of them is told in a stream', async () => {
  const settings = { durable_name: 'one', filter_subject: subject('a.1'), ack_policy: AckPolicy.Explicit, sample_freq: '100%' };
  await consumers.add(NAME, settings);
  const consumer = await nats.jetstream().consumers.get(NAME, 'one');
  await settle(consumer, 'ack');
  await settle(consumer, 'term');
  await eventually('both notices', async () => (await lastSequence(NOTICES)) === 2);
  const said = await Promise.all([1, 2].map((seq) => streams.getMessage(NOTICES, { seq })));
  assert.equal(
    said.map((message) => message.json<{ stream_seq: number }>().stream_seq),
    [2, 4],
  );
  await streams.purge(NOTICES, { seq: 2 });
  assert.is((await streams.info(NOTICES)).state.messages, 1);
});

const userOf = (accountSeed: string): Promise<NatsConnection> => {
  const inbox = `_INBOX_${run}`;
  const allowed = { publish: { allow: [`$JS.API.CONSUMER.MSG.NEXT.${NAME}.one`] }, subscribe: { allow: [`${inbox}.>`] } };
  const user = newUser({ accountSeed, name: inbox, permissions: allowed, expiresAt: new Date(Date.now() + 60_000) });
  const authenticator = jwtAuthenticator(user.jwt, tokens.encode(user.seed));
  return connect({ servers: address.natsUrl.split(',').map((url) => new URL(url.trim()).host), authenticator, inboxPrefix: inbox });
};

test('where somebody else was faster by one message, what stands behind the first is not let in without it', async () => {
  const end = await lastSequence(NAME);
  await nats.jetstream().publish(subject('faster'));
  const error = await sent({ sequence: end, messageId: null }, numbers(800, 700).map(outgoing)).catch((thrown: unknown) => thrown);
  assert.ok(isWrongSequence(error), String(error));
  assert.is(await lastSequence(NAME), end + 1);
});

test("with the account's seed, a user is let in as far as its claim says", async () => {
  const { natsAccountSeed } = address;
  if (!natsAccountSeed) return console.log('skipped: no NATS_ACCOUNT_SEED');
  const user = await userOf(natsAccountSeed);
  try {
    if (!user.info?.auth_required) return console.log('skipped: this broker lets everybody in');
    const next = await user.request(`$JS.API.CONSUMER.MSG.NEXT.${NAME}.one`, '1', { noMux: true, timeout: 5_000 });
    assert.is(next.subject, subject('a.1'));
    await user.request(`$JS.API.STREAM.INFO.${NAME}`, '', { timeout: 500 }).then(
      () => assert.unreachable('it asked what it may not'),
      () => {},
    );
  } finally {
    await user.close();
  }
});

test('nothing is left', async () => {
  for (const name of [NAME, NOTICES]) await streams.delete(name);
  const error = await streams.info(NAME).catch((thrown: unknown) => thrown);
  assert.is(errorCode(error), 10_059);
  await nats.close();
});

test.run();
