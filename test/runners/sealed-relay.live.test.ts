import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { NatsConnection } from 'nats';
import { pino } from 'pino';
import * as assert from 'uvu/assert';
import { approvalLocation } from '../../commands/sessions/approval-text.ts';
import { contentLocation } from '../../commands/sessions/content-location.ts';
import { parseStream } from '../../domain/event.ts';
import { secret } from '../../domain/secret.ts';
import { type Log, LogError } from '../../infra/eventstore/event-log.ts';
import { manager, STREAM } from '../../infra/nats/jetstream.ts';
import { startRelay } from '../../infra/relay/relay.ts';
import { openEventOpener } from '../../infra/vault/event-opener.ts';
import type { BytesEvent } from '../../infra/vault/sealed-events.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { appendDeliveries, appendRequeues, eventIdOf, requeuedIdOf, TENANT } from '../fixtures/generated-log.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { waitUntil, withNatsServer } from '../fixtures/nats-server.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const AT = new Date().toISOString();

type Json = {
  readonly id: string;
  readonly type: string;
  readonly previous?: string;
  readonly data: { readonly message: { readonly content: string | null } | null; readonly decision?: { readonly comment: string | null } };
};

/** Creates a log with its vault. In the returned log, deliveries are encrypted when they are appended. */
const given = async () => {
  const log = memoryLog();
  const masterKeyFile = join(createTempDirectory().dir, 'master.key');
  const vault = await openVault({ log, masterKeyFile });
  const sealing: Log = {
    ...log,
    append: async (stream, expected, events, options) => {
      const seal = async (event: (typeof events)[number]) =>
        event.data instanceof Uint8Array ? vault.sealEvent(parseStream(stream)!, event as BytesEvent) : event;
      return log.append(stream, expected, await Promise.all(events.map(seal)), options);
    },
  };
  return { log, sealing, masterKeyFile, vault };
};

const startTestRelay = async (log: Log, nats: NatsConnection, masterKeyFile: string) => {
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const { openEvent } = openEventOpener({ log, masterKeyFile });
  const relay = await startRelay({ log, nats, logger, publicUrl: 'https://annals.test', openEvent });
  afterTest(relay.close);
  return { ...relay, lines };
};

const messagesIn = async (nats: NatsConnection, count: number) => {
  const { streams } = await manager(nats);
  const messages = await Promise.all(Array.from({ length: count }, (_, index) => streams.getMessage(STREAM, { seq: index + 1 })));
  return messages.map((message) => ({ id: message!.header.get('Nats-Msg-Id'), n: JSON.parse(message!.string()).data.n as number }));
};

test(
  'a runner gets the decrypted text of a person in a session, and no message when it ends a session itself',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const { log, vault, masterKeyFile } = await given();
    const [session, agent_id, message_id] = ['csession00000000000000000', 'cagent0000000000000000000', 'cmessage00000000000000000'];
    const sealed_content = await vault.seal(contentLocation(TENANT, session, message_id), secret('Please review it: ü'));
    const message = { message_id, role: 'user', kind: null, model_id: null, sealed_content, files: [] };
    const actor = { kind: 'user', id: 'cuser00000000000000000000' } as const;
    const meta = { tenant: TENANT, actor, at: AT, v: 1 };
    const eventOf = (type: string, data: object) => ({ id: randomUUID(), type, data, meta });
    await log.append(`session-${TENANT}.${session}`, 'none', [
      eventOf('SessionAssigned', { agent_id, title: null, previous: null, continues_id: null, message }),
      eventOf('SessionCancelled', { agent_id, sealed_summary: null, sealed_error: null }),
      eventOf('SessionInterrupted', { agent_id, title: null, previous: null }),
    ]);
    const relay = await startTestRelay(log, nats, masterKeyFile);
    await waitUntil(() => relay.status().published === 2);
    const { streams } = await manager(nats);
    const [first, second] = await Promise.all([1, 2].map((seq) => streams.getMessage(STREAM, { seq })));
    assert.equal([first!.json<Json>().type, second!.json<Json>().type], ['annals.session.started', 'annals.session.interrupted']);
    assert.equal([first!.json<Json>().data.message?.content, first!.header.get('Annals-Session')], ['Please review it: ü', session]);
  }),
);

test(
  'a message of a person whose text is damaged reaches the runner without it, because later ones refer to it',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const { log, vault, masterKeyFile } = await given();
    const [session, agent_id] = ['csession00000000000000000', 'cagent0000000000000000000'];
    const [assigned, sent, decided] = [randomUUID(), randomUUID(), randomUUID()];
    const sealedAt = (message_id: string, text: string) => vault.seal(contentLocation(TENANT, session, message_id), secret(text));
    const messageOf = async (message_id: string, elsewhere = message_id) => {
      const sealed_content = await sealedAt(elsewhere, 'Please review it');
      return { message_id, role: 'user', kind: null, model_id: null, sealed_content, files: [] };
    };
    const [damaged, readable] = [
      await messageOf('cmessage00000000000000000', 'cother0000000000000000000'),
      await messageOf('cmessage00000000000000001'),
    ];
    const actor = { kind: 'user', id: 'cuser00000000000000000000' } as const;
    const meta = { tenant: TENANT, actor, at: AT, v: 1 };
    const sealed_comment = await sealedAt('cother0000000000000000000', 'Yes');
    const decision = { message_id: 'cmessage00000000000000002', decision: 'approved', sha256: '', sealed_comment };
    await log.append(`session-${TENANT}.${session}`, 'none', [
      {
        id: assigned,
        type: 'SessionAssigned',
        data: { agent_id, title: null, previous: null, continues_id: null, message: damaged },
        meta,
      },
      { id: sent, type: 'SessionMessageSent', data: { agent_id, title: null, previous: assigned, ...readable }, meta },
      { id: decided, type: 'ApprovalDecided', data: { agent_id, title: null, previous: sent, ...decision }, meta },
    ]);
    const relay = await startTestRelay(log, nats, masterKeyFile);
    await waitUntil(() => relay.status().published === 3);
    const { streams } = await manager(nats);
    const found = await Promise.all([1, 2, 3].map(async (seq) => (await streams.getMessage(STREAM, { seq }))!.json<Json>()));
    assert.equal(
      found.map(({ id, previous, data }) => [id, previous, data.message?.content, data.decision?.comment]),
      [
        [assigned, undefined, null, undefined],
        [sent, assigned, 'Please review it', undefined],
        [decided, sent, undefined, null],
      ],
    );
    assert.is(relay.lines.filter((line) => /"level":50.*is sent to its runner without its text/.test(line)).length, 2);
  }),
);

test(
  "a runner gets decisions on approvals: a person's with its decrypted comment, and that nobody decided in time",
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const { log, vault, masterKeyFile } = await given();
    const [session, agent_id, message_id] = ['csession00000000000000000', 'cagent0000000000000000000', 'cmessage00000000000000000'];
    const at = approvalLocation({ tenant: TENANT, session_id: session, message_id }, 'comment');
    const sealed_comment = await vault.seal(at, secret('After 18:00: ü'));
    const meta = { tenant: TENANT, actor: { kind: 'user', id: 'cuser00000000000000000000' }, at: AT, v: 1 } as const;
    const eventOf = (type: string, data: object) => ({
      id: randomUUID(),
      type,
      data: { agent_id, title: null, message_id, ...data },
      meta,
    });
    const decided = eventOf('ApprovalDecided', { previous: null, decision: 'approved', sealed_comment, sha256: '0'.repeat(64) });
    const denied = eventOf('ApprovalDecided', { previous: decided.id, decision: 'denied', sealed_comment: null, sha256: '0'.repeat(64) });
    const expired = eventOf('ApprovalExpired', { previous: denied.id });
    await log.append(`session-${TENANT}.${session}`, 'none', [decided, denied, expired]);
    const relay = await startTestRelay(log, nats, masterKeyFile);
    await waitUntil(() => relay.status().published === 3);
    const { streams } = await manager(nats);
    const sent = await Promise.all([1, 2, 3].map((seq) => streams.getMessage(STREAM, { seq })));
    const events = sent.map((message) => message!.json<{ type: string; previous?: string; data: { message: null; decision: unknown } }>());
    assert.equal(
      events.map(({ type, previous, data }) => [type, previous, data.message, data.decision]),
      [
        ['annals.session.decision', undefined, null, { message_id, decision: 'approved', comment: 'After 18:00: ü' }],
        ['annals.session.decision', decided.id, null, { message_id, decision: 'denied', comment: null }],
        ['annals.session.decision', denied.id, null, { message_id, decision: 'expired', comment: null }],
      ],
    );
    assert.not.ok(JSON.stringify(log.events, (_, value) => (typeof value === 'bigint' ? `${value}` : value)).includes('After 18:00'));
  }),
);

test(
  'a runner gets an encrypted delivery with the decrypted body, also when it is sent again',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const { log, sealing, masterKeyFile } = await given();
    await appendDeliveries(log, 0, 1, AT);
    await appendDeliveries(sealing, 1, 3, AT);
    await appendRequeues(log, 2, AT);
    const relay = await startTestRelay(log, nats, masterKeyFile);
    await waitUntil(() => relay.status().published === 5);
    assert.equal(await messagesIn(nats, 5), [
      { id: eventIdOf(0), n: 0 },
      { id: eventIdOf(1), n: 1 },
      { id: eventIdOf(2), n: 2 },
      { id: requeuedIdOf(0), n: 0 },
      { id: requeuedIdOf(1), n: 1 },
    ]);
  }),
);

test(
  'the relay logs and skips deliveries whose bodies are damaged, and publishes the later ones',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const { log, sealing, masterKeyFile } = await given();
    await appendDeliveries(sealing, 0, 3, AT);
    const damaged = log.events.find(({ event_id }) => event_id === eventIdOf(1))!;
    (damaged.data as Uint8Array)[20]! ^= 1;
    const relay = await startTestRelay(log, nats, masterKeyFile);
    await waitUntil(() => relay.status().published === 2);
    assert.equal(await messagesIn(nats, 2), [
      { id: eventIdOf(0), n: 0 },
      { id: eventIdOf(2), n: 2 },
    ]);
    const reports = relay.lines.filter((line) => line.includes(eventIdOf(1)));
    assert.is(reports.length, 1);
    assert.match(reports[0]!, /"level":50.*is not sent to its runner, because its body cannot be opened/);
  }),
);

test(
  "after the data key of a tenant is destroyed, the relay skips the tenant's deliveries without waiting for the key",
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const { log, sealing, masterKeyFile } = await given();
    await appendDeliveries(sealing, 0, 3, AT);
    await appendRequeues(log, 1, AT);
    await appendDeliveries(log, 3, 4, AT);
    const erased: Log = {
      ...log,
      read: (stream, options) => {
        if (stream === `key-${TENANT}.vault`) throw new LogError('gone', 'the stream was deleted');
        return log.read(stream, options);
      },
    };
    const relay = await startTestRelay(erased, nats, masterKeyFile);
    await waitUntil(() => relay.status().published === 1);
    assert.equal(await messagesIn(nats, 1), [{ id: eventIdOf(3), n: 3 }]);
    assert.equal([relay.status().state, relay.status().last_error], ['relaying', null]);
    assert.not.ok(
      relay.lines.some((line) => /"level":[45]0/.test(line)),
      'erased deliveries are not an error',
    );
  }),
);

test(
  'without the master key, the relay waits and reports the reason; once the key is restored, it publishes everything in order',
  withNatsServer(async (broker) => {
    const nats = await broker.connect();
    const { log, sealing, masterKeyFile } = await given();
    await appendDeliveries(sealing, 0, 3, AT);
    const elsewhere = join(createTempDirectory().dir, 'master.key');
    const relay = await startTestRelay(log, nats, elsewhere);
    await waitUntil(() => relay.status().last_error !== null);
    assert.match(relay.status().last_error!, /^the master key .* is missing/);
    writeFileSync(elsewhere, Buffer.alloc(32, 1));
    await waitUntil(() => /is not the one that encrypted/.test(relay.status().last_error ?? ''));
    assert.is(relay.status().published, 0);
    await rename(masterKeyFile, elsewhere);
    await waitUntil(() => relay.status().published === 3);
    assert.equal(
      (await messagesIn(nats, 3)).map(({ n }) => n),
      [0, 1, 2],
    );
  }),
);

test.run();
