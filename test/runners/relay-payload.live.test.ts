import { pino } from 'pino';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { outgoingMessage } from '../../commands/runners/relay.reactor.ts';
import type { Recorded } from '../../domain/event.ts';
import { MAX_SENT_BYTES } from '../../domain/sessions/sent-fields.ts';
import { connectNats } from '../../infra/nats/connect.ts';
import { startRelay } from '../../infra/relay/relay.ts';
import { TENANT } from '../fixtures/given.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { SMALL_PAYLOAD, withOpenServer, withSmallPayload } from '../fixtures/open-nats-server.ts';
import { openUnsealed } from '../fixtures/open-unsealed.ts';

const logger = pino({ level: 'silent' });
const AGENT = 'cagent0000000000000000000';
const SESSION = 'csession00000000000000000';
const actor = { kind: 'user', id: 'cuser00000000000000000000' } as const;
const WIDE = '\u{1F600}';

/** A message of a person with the longest text, title and names of files. */
const longest = {
  type: 'SessionMessageSent',
  data: {
    agent_id: AGENT,
    title: WIDE.repeat(127),
    previous: '00000000-0000-4000-8000-000000000001',
    message_id: SESSION,
    role: 'user',
    kind: null,
    model_id: null,
    sealed_content: '',
    files: Array.from({ length: 10 }, () => ({
      attachment_id: SESSION,
      filename: WIDE.repeat(127),
      content_type: 'a'.repeat(127),
      size_bytes: 26_214_400,
      sha256: 'a'.repeat(64),
    })),
  },
  content: '"'.repeat((MAX_SENT_BYTES - 2) / 2),
  event_id: '00000000-0000-4000-8000-000000000002',
  stream: `session-${TENANT}.${SESSION}`,
  category: 'session',
  tenant: TENANT,
  id: SESSION,
  revision: 0,
  position: { commit: 7n, prepare: 8n },
  at: '2026-01-01T00:00:00.000Z',
  actor,
  meta: { tenant: TENANT, actor, at: '2026-01-01T00:00:00.000Z', v: 1 },
} as unknown as Recorded;

const start = async (natsUrl: string) => {
  const nats = await connectNats({ natsUrl, natsAccountSeed: undefined }, { waitForServer: false });
  const relay = await startRelay({ log: memoryLog(), nats, logger, publicUrl: 'https://annals.test', openEvent: openUnsealed });
  const close = async (): Promise<void> => {
    await relay.close();
    await nats.close();
  };
  return { relay, close };
};

test('a message of a session always contains its text, and fits into the required max_payload', () => {
  const { payload } = outgoingMessage(longest, `https://${'a'.repeat(200)}`, 0);
  const { data } = JSON.parse(new TextDecoder().decode(payload)) as { data: { message: { content: string }; files: object[] } };
  assert.equal([data.message.content.length, data.files.length], [(MAX_SENT_BYTES - 2) / 2, 10]);
  assert.ok(payload.length < 98_304 - 16_384, `${payload.length} bytes`);
});

test('with a broker whose max_payload is too small, the relay says so', () =>
  withSmallPayload(async (natsUrl) => {
    const { relay, close } = await start(natsUrl);
    await waitUntil(() => relay.status().last_error !== null);
    const { state, last_error } = relay.status();
    assert.equal([state, last_error], ['waiting', `max_payload of the message broker is ${SMALL_PAYLOAD}: set it to at least 98304 bytes`]);
    await close();
  }));

test('with the default max_payload of a broker, the relay runs', () =>
  withOpenServer(['-js'], async (natsUrl) => {
    const { relay, close } = await start(natsUrl);
    await waitUntil(() => relay.status().state === 'relaying');
    await close();
  }));

test.run();
