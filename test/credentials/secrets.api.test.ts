import { pino } from 'pino';
import { Registry } from 'prom-client';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { outgoingMessage, relayedEventTypes } from '../../commands/runners/relay.reactor.ts';
import { createRequestLog } from '../../infra/http/request-log.ts';
import { createRequestObserver } from '../../infra/http/request-observer.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;

const logged: string[] = [];
const requestLog = createRequestLog(pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }), 1);
const { onResponse } = createRequestObserver(new Registry(), requestLog.ofKind);
const p = await createTestPlatform({ onResponse });
const responses: string[] = [];
const send = async (method: string, path: string, body?: Json, key = p.key): Promise<Json> => {
  const answer = await p.send(method, path, { key, ...(body && { body }) });
  responses.push(`${answer.text} ${JSON.stringify([...answer.headers])}`);
  return answer.body as Json;
};

let count = 0;
const canaries: string[] = [];
/** Returns a new unique secret. It contains characters that must be escaped in URLs and in JSON. */
const canary = (): string => {
  const text = `canary "${++count}" & ü of a secret ${'x'.repeat(count % 3)}`;
  canaries.push(text);
  return text;
};

const agent = `${p.tenant}/agents/${(await send('POST', `${p.tenant}/agents`, { name: 'Agent', slug: 'one' })).id}`;
const runner = (await p.send('POST', `${agent}/runner-keys`, { body: { name: 'runner' } })).body as { key: string };
const schema = { type: 'object', properties: { strict: { type: 'string', maxLength: 3 } } };
const skillFields = { name: 'S', slug: 's', description: 'A skill', instructions: 'Do it', config_schema: schema };
const skill_id = (await send('POST', `${p.tenant}/skills`, skillFields)).id as string;
await send('POST', `${agent}/skills`, { skill_id });

const submit = async (config_key: string, repeated: Json = {}): Promise<void> => {
  const asked = await send('POST', `${agent}/credential-requests`, { skill_id, config_key, prompt: 'p' }, runner.key);
  await send('POST', `${p.tenant}/credentials`, { request_id: asked.id, skill_id, config_key, value: canary(), ...repeated });
};

/** Sends 40 secrets: half of them in requests that succeed, half of them in requests that are refused. */
const sendSecrets = async (): Promise<void> => {
  for (let n = 0; n < 10; n++) await submit(`key_${n}`);
  for (let n = 0; n < 5; n++) await submit('strict');
  for (let n = 0; n < 5; n++) await submit(`other_${n}`, { config_key: 'another' });
  const database = { database: 'd', username: 'u' };
  for (let n = 0; n < 5; n++)
    await send('POST', `${p.tenant}/database-credentials`, { ...database, host: `h${n}.example.com`, password: canary() });
  for (let n = 0; n < 5; n++)
    await send('POST', `${p.tenant}/database-credentials`, { ...database, host: '127.0.0.1', password: canary(), test_connection: true });
  for (let n = 0; n < 5; n++) await send('POST', `${p.tenant}/database-credentials`, { ...database, host: 'a:b', password: canary() });
  for (let n = 0; n < 5; n++) await send('POST', `${p.tenant}/credentials`, { value: canary(), request_id: 7 });
};

type Credential = { readonly identity_id: string; readonly secret: string; readonly url: string };
const runtimeOf = async () =>
  (await p.send('GET', `${agent}/runtime`, { key: runner.key })).body as { skills: { config: Json }[]; credentials: Credential[] };

/** Gives the five databases that were stored to the agent, takes one of them back, and reads the runtime. */
const giveDatabases = async (): Promise<void> => {
  const identities = p.eventsOf('DatabaseCredentialStored').map(({ id }) => id);
  for (const id of identities) await send('PUT', `${agent}/credentials/${id}`);
  await send('DELETE', `${agent}/credentials/${identities[4]}`);
  await send('PUT', `${agent}/credentials/${identities[4]}x`);
  await runtimeOf();
};

/** Returns all rows of the read models as texts. */
const allRows = async (): Promise<string> => {
  const tables = await p.readModelPool.query<{ name: string }>(
    "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
  );
  const rows = await Promise.all(tables.rows.map(({ name }) => p.readModelPool.query(`select one::text from ${name} as one`)));
  return rows.flatMap((found) => found.rows.map(({ one }) => String(one))).join('\n');
};

const readEverything = async (): Promise<void> => {
  await p.waitForProjections();
  for (const path of ['linked-identities', 'audit-logs?limit=200', 'agents', 'skills', 'webhook-integrations', 'deliveries'])
    await send('GET', `${p.tenant}/${path}`);
  for (const path of ['credential-requests', 'credentials', 'skills', 'history', 'integrations', 'sessions'])
    await send('GET', `${agent}/${path}`);
  for (const format of ['jsonl', 'csv', 'ocsf']) await send('GET', `${p.tenant}/audit-logs/export?format=${format}`);
};

/**
 * Returns the forms in which a secret could be stored or shown: plain, in hexadecimal digits, in Base64 at three
 * offsets, and escaped for URLs and for JSON.
 */
const formsOf = (text: string): string[] => {
  const bytes = Buffer.from(text);
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .slice(4, -4),
  );
  const escaped = JSON.stringify(text).slice(1, -1);
  return [text, bytes.toString('hex'), ...base64, encodeURIComponent(text), escaped, JSON.stringify(escaped).slice(1, -1)];
};

const eventText = (value: unknown): string =>
  JSON.stringify(value, (_, one) => {
    if (typeof one === 'bigint') return String(one);
    return one instanceof Uint8Array ? Buffer.from(one).toString('latin1') : one;
  });

test('none of 40 secrets is in a response (except the runtime), event, row, message or log line, in 8 encodings', async () => {
  await sendSecrets();
  await giveDatabases();
  await readEverything();
  assert.is(canaries.length, 40);
  const messages = p.log.events
    .filter(({ type }) => relayedEventTypes.includes(type))
    .map((event) => Buffer.from(outgoingMessage(event, 'https://annals.test', 65_536).payload).toString());
  assert.is(messages.length, 10);
  const places = {
    responses: responses.join('\n'),
    events: eventText(p.log.events),
    rows: await allRows(),
    messages: messages.join('\n'),
    log: logged.join('\n'),
  };
  for (const [place, text] of Object.entries(places)) {
    assert.ok(text.length > 1_000, place);
    const found = canaries.filter((one) => formsOf(one).some((form) => text.includes(form)));
    assert.equal(found, [], place);
  }
});

test('the runtime contains the ten accepted values, and the passwords of the four databases that the agent has', async () => {
  const { skills, credentials } = await runtimeOf();
  assert.equal(Object.values(skills[0]!.config), canaries.slice(0, 10));
  assert.equal(credentials.map(({ secret }) => secret).sort(), canaries.slice(20, 24).sort());
  for (const { url, secret } of credentials) assert.is(decodeURIComponent(new URL(url).password), secret);
});

test('a value that is encrypted for one identity cannot be decrypted for another one, nor after one of its bits was changed', async () => {
  const stored = p.eventsOf('DatabaseCredentialStored');
  const locationOf = (id: string) => ({ tenant: p.tenant_id, category: 'linkedidentity', id, field: 'secret' });
  const fails = async (id: string, sealed: string): Promise<boolean> =>
    p.vault.open(locationOf(id), sealed).then(
      () => false,
      () => true,
    );
  for (const one of stored)
    for (const other of stored) {
      const sealed = (one.data as { sealed_password: string }).sealed_password;
      assert.is(await fails(other.id, sealed), one.id !== other.id);
    }
  const { id, data } = stored[0]!;
  const parts = (data as { sealed_password: string }).sealed_password.split('.');
  for (const index of [2, 3, 4]) {
    const bytes = Buffer.from(parts[index]!, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      assert.ok(await fails(id, parts.with(index, changed.toString('base64url')).join('.')), `part ${index}, bit ${bit}`);
    }
  }
});

test.run();
