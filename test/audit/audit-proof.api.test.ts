// limit: 180
import { createPublicKey, verify } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as AuditHead from '../../domain/audit/audit-head.ts';
import * as AuditKey from '../../domain/audit/audit-key.ts';
import { type Hash, leafHash, rootFromInclusion, rootOf } from '../../domain/audit/merkle-tree.ts';
import { tokenOf } from '../../domain/event.ts';
import { rotateSigningKey } from '../../infra/audit/signing-key.ts';
import { tenantsWithUnsignedEntries } from '../../projections/audit/audit-head.queries.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { errorCode } from '../fixtures/session-platform.ts';
import { signAuditHeads } from '../fixtures/sign-audit-heads.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';

type Head = AuditHead.AuditHeadFields & { previous_size: number };
type Proof = { leaf: Hash; index: number; size: number; path: Hash[]; head: Head };
type Event = {
  id: string;
  stream: string;
  position: string;
  type: string;
  data: Record<string, unknown>;
  metadata: Record<string, unknown>;
};
type Entry = { id: string; position: string };

const p = await createTestPlatform();
const home = await createSecondTenant(p, 'home');
const away = await createSecondTenant(p, 'away');

const get = async <T>(path: string, key = home.key): Promise<T> => {
  const answer = await p.send('GET', path, { key });
  assert.is(answer.status, 200, answer.text);
  return answer.body as T;
};

const createAgents = async (count: number, { tenant, key } = home): Promise<void> => {
  for (let index = 0; index < count; index++) {
    const slug = `agent-${p.log.events.length}`;
    const answer = await p.send('POST', `${tenant}/agents`, { key, body: { name: 'Agent', slug } });
    assert.is(answer.status, 201, answer.text);
  }
};

const sign = async (tenant: string): Promise<number> => {
  await p.waitForProjections();
  return signAuditHeads(p, [tenant]);
};

/** Reads all events of a tenant in pages. Returns the exact text of each event, because the proofs depend on it. */
const allEvents = async (limit: number): Promise<string[]> => {
  const texts: string[] = [];
  for (let path: string | undefined = `${home.tenant}/events?limit=${limit}`; path; ) {
    const answer = await p.send('GET', path, { key: home.key });
    texts.push(...answer.text.slice(1, -1).split(',\n'));
    path = /^<([^>]*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  return texts;
};

type Key = { key_id: string; public_key: string; cross_signature: string | null };

const isSigned = ({ public_key }: Key, text: string, signature: string): boolean => {
  const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: public_key } });
  return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'));
};

test('asking for the proof of an event gets 404 until a signed audit head covers the event', async () => {
  await createAgents(3);
  await p.waitForProjections();
  const [entry] = await get<Entry[]>(`${home.tenant}/audit-logs?limit=1`);
  const answer = await p.send('GET', `${home.tenant}/audit-logs/proof?position=${entry!.position}`, { key: home.key });
  assert.equal([answer.status, errorCode(answer)], [404, 'not_found']);
  assert.equal(await get(`${home.tenant}/audit-logs/heads`), []);
});

test("a tenant's first audit head is due at its first entry, each later one after five minutes with new entries", async () => {
  const inMinutes = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString();
  const isDue = async (at: string): Promise<boolean> => {
    await p.waitForProjections();
    const before = new Date(Date.parse(at) - AuditHead.HEAD_INTERVAL_MS).toISOString();
    return (await tenantsWithUnsignedEntries(p.reads, before)).due.includes(home.id);
  };
  assert.ok(await isDue(inMinutes(0)));
  assert.is(await sign(home.id), 1);
  assert.is(await sign(home.id), 0);
  assert.not(await isDue(inMinutes(10)));
  await createAgents(1);
  assert.not(await isDue(inMinutes(4)));
  assert.ok(await isDue(inMinutes(6)));
});

test('the root hash of every signed audit head is that of the events that the API returns, and its signature belongs to a key that the API returns', async () => {
  await createAgents(5);
  await sign(home.id);
  const leaves = (await allEvents(3)).map(leafHash);
  assert.equal((await allEvents(200)).map(leafHash), leaves);
  const heads = await get<Head[]>(`${home.tenant}/audit-logs/heads`);
  const keys = await get<Key[]>(`${home.tenant}/audit-logs/keys`);
  assert.is(heads.length, 2);
  assert.equal(
    heads.map(({ previous_size }) => previous_size),
    [heads[1]!.size, 0],
  );
  for (const head of heads) {
    assert.is(head.root, rootOf({ size: 0, peaks: [], leaves: leaves.slice(0, head.size) }));
    assert.ok(isSigned(keys.find(({ key_id }) => key_id === head.key_id)!, AuditHead.signedText(home.id, head), head.signature));
    assert.not(isSigned(keys[0]!, AuditHead.signedText(away.id, head), head.signature));
  }
  const shown = await p.send('GET', `${home.tenant}/audit-logs/heads?sort=size&limit=1`, { key: home.key });
  assert.equal((shown.body as Head[])[0], heads[1]);
  assert.ok(shown.headers.get('link'));
});

test('the proof of every audit log entry leads from the entry to the root hash of the signed head that covers it', async () => {
  await sign(home.id);
  const entries = await get<Entry[]>(`${home.tenant}/audit-logs?limit=200`);
  const texts = new Map((await allEvents(200)).map((text) => [(JSON.parse(text) as Event).id, text]));
  assert.is(texts.size, entries.length);
  for (const { id, position } of entries) {
    const proof = await get<Proof>(`${home.tenant}/audit-logs/proof?position=${position}`);
    assert.is(proof.leaf, leafHash(texts.get(id)!));
    assert.is(rootFromInclusion(proof.leaf, proof.index, proof.size, proof.path), proof.head.root);
    assert.is(proof.size, proof.head.size);
  }
  const newest = await get<Proof>(`${home.tenant}/audit-logs/proof`);
  assert.equal([newest.index, newest.size], [entries.length - 1, entries.length]);
  const indexes = await Promise.all(
    entries.map(async ({ position }) => (await get<Proof>(`${home.tenant}/audit-logs/proof?position=${position}`)).index),
  );
  assert.equal(
    indexes.toSorted((a, b) => a - b),
    entries.map((_, index) => index),
  );
});

test('if more than 1,000 audit log entries are not yet covered by a signed head, one head is signed for each 1,000 of them, and one more for the rest', async () => {
  const at = new Date().toISOString();
  const meta = { tenant: away.id, actor: { kind: 'system', id: 'test' } as const, at, v: 1 };
  for (let batch = 0; batch < 21; batch++)
    await p.log.append(
      `agent-${away.id}.bulk${batch}`,
      'none',
      Array.from({ length: 100 }, () => ({ id: crypto.randomUUID(), type: 'AgentUpdated', data: {}, meta })),
    );
  assert.is(await sign(away.id), 3);
  const heads = await get<Head[]>(`${away.tenant}/audit-logs/heads?sort=size`, away.key);
  assert.equal(
    heads.map(({ size }) => Math.min(size, 2_000)),
    [1_000, 2_000, 2_000],
  );
  const last = p.log.events.findLast(({ meta: { tenant }, category }) => tenant === away.id && category === 'agent')!;
  const proof = await get<Proof>(`${away.tenant}/audit-logs/proof?position=${tokenOf(last.position)}`, away.key);
  assert.is(rootFromInclusion(proof.leaf, proof.index, proof.size, proof.path), heads[2]!.root);
});

test("asking for the proof of an unknown position or of another tenant's event gets 404; a malformed position is refused", async () => {
  const foreign = p.log.events.findLast(({ meta }) => meta.tenant === away.id)!;
  for (const position of [tokenOf(foreign.position), '1:2', `${'9'.repeat(18)}:1`]) {
    const answer = await p.send('GET', `${home.tenant}/audit-logs/proof?position=${position}`, { key: home.key });
    assert.is(answer.status, 404, position);
  }
  for (const query of ['?position=', '?position=x', '?position=1'])
    assert.is((await p.send('GET', `${home.tenant}/audit-logs/proof${query}`, { key: home.key })).status, 422, query);
});

test('events can be filtered by stream, type and position; for streams of other tenants and of encryption keys, the list is empty', async () => {
  const all = await get<Event[]>(`${home.tenant}/events?limit=200`);
  const created = await get<Event[]>(`${home.tenant}/events?type=AgentCreated&limit=200`);
  assert.equal(
    created,
    all.filter(({ type }) => type === 'AgentCreated'),
  );
  const { stream, position } = created[2]!;
  assert.equal(
    await get(`${home.tenant}/events?stream=${stream}`),
    all.filter((event) => event.stream === stream),
  );
  assert.equal(
    await get(`${home.tenant}/events?from_position=${position}&limit=200`),
    all.slice(all.findIndex((one) => one.position === position)),
  );
  const foreign = p.log.events.find(({ category, tenant }) => category === 'agent' && tenant === away.id)!;
  const key = p.log.events.find(({ category, tenant }) => category === 'key' && tenant === home.id);
  for (const other of [foreign.stream, key?.stream ?? `key-${home.id}.data`, 'auditkey-platform.signing', 'nonsense'])
    assert.equal(await get(`${home.tenant}/events?stream=${other}`), [], other);
  assert.is((await p.send('GET', `${home.tenant}/events?from_position=x`, { key: home.key })).status, 422);
  assert.is((await p.send('GET', `${home.tenant}/events?limit=201`, { key: home.key })).status, 422);
});

test('events can be filtered by the id of the request that caused them and by a range of positions', async () => {
  const requestId = 'the-request-of-this-test';
  const body = { name: 'Agent', slug: 'correlated' };
  const created = await p.send('POST', `${home.tenant}/agents`, { key: home.key, body, headers: { 'x-request-id': requestId } });
  await p.send('POST', `${away.tenant}/agents`, { key: away.key, body, headers: { 'x-request-id': requestId } });
  assert.is(created.status, 201, created.text);
  const caused = await get<Event[]>(`${home.tenant}/events?correlation=${requestId}`);
  assert.ok(caused.length > 0);
  for (const { metadata } of caused) assert.equal([metadata.$correlationId, metadata.tenant], [requestId, home.id]);
  const { stream } = caused.find(({ type }) => type === 'AgentCreated')!;
  await p.send('PATCH', `${home.tenant}/agents/${stream.split('.')[1]}`, { key: home.key, body: { name: 'Later' } });
  assert.equal(
    await get(`${home.tenant}/events?stream=${stream}&correlation=${requestId}`),
    caused.filter((event) => event.stream === stream),
  );
  assert.equal(await get(`${home.tenant}/events?correlation=no-such-request`), []);
  const all = await get<Event[]>(`${home.tenant}/events?limit=200`);
  const [from, to] = [all[3]!.position, all[7]!.position];
  const range = `from_position=${from}&to_position=${to}`;
  assert.equal(await get(`${home.tenant}/events?${range}`), all.slice(3, 8));
  const first = await p.send('GET', `${home.tenant}/events?${range}&limit=3`, { key: home.key });
  const next = /^<([^>]*)>/.exec(first.headers.get('link')!)![1]!;
  assert.equal(await get(next), all.slice(6, 8));
  assert.equal(
    (await get<Event[]>(`${home.tenant}/events?stream=${stream}&to_position=${caused.at(-1)!.position}`)).map(({ type }) => type),
    all.filter((event) => event.stream === stream && event.type !== 'AgentUpdated').map(({ type }) => type),
  );
  for (const query of ['correlation=', `correlation=${'x'.repeat(256)}`, 'to_position=x'])
    assert.is((await p.send('GET', `${home.tenant}/events?${query}`, { key: home.key })).status, 422, query);
});

test('the events of a long stream are listed in pages', async () => {
  const { stream } = (await get<Event[]>(`${home.tenant}/events?type=AgentCreated&limit=1`))[0]!;
  const agent = stream.split('.')[1]!;
  for (const name of ['A', 'B', 'C']) await p.send('PATCH', `${home.tenant}/agents/${agent}`, { key: home.key, body: { name } });
  const first = await p.send('GET', `${home.tenant}/events?stream=${stream}&limit=2`, { key: home.key });
  const next = /^<([^>]*)>/.exec(first.headers.get('link')!)![1]!;
  const [one, two] = [first.body as Event[], await get<Event[]>(next)];
  assert.equal(
    [...one, ...two].map(({ type }) => type),
    ['AgentCreated', 'AgentUpdated', 'AgentUpdated', 'AgentUpdated'],
  );
  assert.equal([one.length, two.length], [2, 2]);
});

test('the list of events shows encrypted contents and secrets only as they are stored, which is encrypted', async () => {
  const skill = { name: 'S', slug: 'sealed', description: 'd', instructions: 'i' };
  const { id: skill_id } = (await p.send('POST', `${home.tenant}/skills`, { key: home.key, body: skill })).body as { id: string };
  const agent = (await get<Event[]>(`${home.tenant}/events?type=AgentCreated&limit=1`))[0]!.stream.split('.')[1]!;
  await p.send('POST', `${home.tenant}/agents/${agent}/skills`, { key: home.key, body: { skill_id } });
  const config = { token: 'canary-of-a-secret' };
  const saved = await p.send('PATCH', `${home.tenant}/agents/${agent}/skills/${skill_id}/config`, { key: home.key, body: { config } });
  assert.is(saved.status, 200, saved.text);
  const texts = await allEvents(200);
  assert.ok(texts.some((text) => text.includes('SkillConfig')));
  assert.not(texts.join().includes('canary-of-a-secret'));
});

test('a new signing key of the audit log is signed with the previous key, and heads that are signed later name the new key', async () => {
  const { after: key_id } = await rotateSigningKey(p);
  await createAgents(1);
  await sign(home.id);
  const [newest, before] = await get<Head[]>(`${home.tenant}/audit-logs/heads`);
  const keys = await get<Key[]>(`${home.tenant}/audit-logs/keys`);
  assert.equal(
    keys.map((key) => key.key_id),
    [before!.key_id, key_id],
  );
  assert.is(newest!.key_id, key_id);
  assert.ok(isSigned(keys[0]!, AuditKey.keyText(keys[1]!), keys[1]!.cross_signature!));
  assert.ok(isSigned(keys[1]!, AuditHead.signedText(home.id, newest!), newest!.signature));
});

test("without break-glass access, a super-admin can read nothing of a tenant's audit log: no events, heads, keys, proofs or exports", async () => {
  const exports = ['jsonl', 'csv', 'ocsf'].map((format) => `audit-logs/export?format=${format}`);
  for (const path of ['events', 'audit-logs', 'audit-logs/heads', 'audit-logs/keys', 'audit-logs/proof?position=1:1', ...exports])
    assert.is((await p.send('GET', `${home.tenant}/${path}`)).status, 403, path);
});

afterLastTest(() => {
  p.allowUnappliedEvents();
  return p.close();
});

test.run();
