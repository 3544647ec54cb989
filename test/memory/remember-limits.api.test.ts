import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as AgentMemory from '../../domain/memory/agent-memory.ts';
import { entryIdOf } from '../../domain/memory/entry-id.ts';
import { blobDirectoryOf } from '../../infra/blobs/blob-location.ts';
import { openDirectoryPlace } from '../../infra/blobs/open-blob-store.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createMemoryPlatform, type Json } from '../fixtures/memory-platform.ts';

const { p, newRunner, memoryOf, remember } = await createMemoryPlatform();
const { backend } = openDirectoryPlace(blobDirectoryOf(p.dataDirectory));

const storedFiles = async (): Promise<number> => (await Array.fromAsync(backend.list())).length;
const errorOf = ({ body }: { body: unknown }): unknown => (body as { errors: Json[] }).errors?.[0]?.code;

/**
 * Appends two events to the empty memory of an agent, without storing texts. The second one contains a snapshot, as if
 * this had been the state before it.
 */
const seed = async (agent: string, key_id: string, stateBefore: Partial<AgentMemory.AgentMemory>): Promise<void> => {
  const at = new Date(p.clock.now()).toISOString();
  const meta = { tenant: p.tenant_id, actor: { kind: 'agent', id: agent, key_id } as const, at, v: 1 };
  const state = { ...AgentMemory.initial, agent_id: agent, day: at.slice(0, 10), ...stateBefore };
  const snapshot = { ...meta, stateBefore: { version: AgentMemory.snapshots.version, state } };
  const events = [meta, snapshot].map((one, n) => ({
    ...{ id: randomUUID(), type: 'MemoryRemembered', meta: one },
    data: { agent_id: agent, entry_id: entryIdOf(agent, n), sha256: `${n}`, session_id: null },
  }));
  await p.log.append(`${AgentMemory.category}-${p.tenant_id}.${agent}`, 'none', events);
};

test('a runner key adds at most 1,000 entries in a day; other keys, people and the next day are not concerned', async () => {
  const { agent, id, key } = await newRunner();
  const second = (await p.send('POST', `${p.tenant}/agents/${agent}/runner-keys`, { body: { name: 'b' } })).body as { key: string };
  await seed(agent, id, { entries: 998, runs: [998], written_by_key: { [id]: 998 } });
  assert.is((await remember(agent, { text: 'the last' }, key)).status, 201);
  const refused = await remember(agent, { text: 'too many' }, key);
  const { limit, resets_at, code } = refused.body as Json;
  assert.equal([refused.status, code, limit], [429, 'rate_limited', 1_000]);
  assert.match(String(resets_at), /T00:00:00.000Z$/);
  const seconds = Number(refused.headers.get('retry-after'));
  assert.ok(seconds > 0 && seconds <= 86_400, `${seconds}`);
  assert.match(refused.text, /try again after .*, or let a person import a file/);
  assert.is((await remember(agent, { text: 'a' }, second.key)).status, 201);
  assert.is((await remember(agent, { text: 'a' })).status, 201);
  const { now } = p.clock;
  p.clock.now = () => now() + 86_400_000;
  assert.is((await remember(agent, { text: 'a' }, key)).status, 201, 'the next day');
  p.clock.now = now;
});

test('an agent remembers at most 100,000 entries; after one is removed, another one can be added', async () => {
  const { agent, id, key } = await newRunner();
  await seed(agent, id, { entries: 99_998, runs: [99_998] });
  assert.is((await remember(agent, { text: 'the last' }, key)).status, 201);
  const full = await remember(agent, { text: 'too many' }, key);
  assert.equal([full.status, errorOf(full), (full.body as Json).limit], [409, 'memory_full', 100_000]);
  assert.match(full.text, /forget some of them/);
  assert.is((await p.send('DELETE', `${memoryOf(agent)}/${entryIdOf(agent, 7)}`)).status, 204);
  assert.is((await remember(agent, { text: 'a' }, key)).status, 201);
  assert.is((await remember(agent, { text: 'b' }, key)).status, 409);
});

type SeedOf = (key_id: string, room: number) => Partial<AgentMemory.AgentMemory>;

/** For each limit: a state in which `room` entries can still be added, and the status of the refusal. */
const limits: readonly (readonly [name: string, seedOf: SeedOf, status: number])[] = [
  ['of the key', (id, room) => ({ entries: 999 - room, runs: [999 - room], written_by_key: { [id]: 999 - room } }), 429],
  ['of the agent', (_, room) => ({ entries: 99_999 - room, runs: [99_999 - room] }), 409],
];

test('an addition that a limit refuses stores no file, whether the state was read from the log or was in memory', async () => {
  for (const [name, seedOf, status] of limits) {
    const { agent, id, key } = await newRunner();
    await seed(agent, id, seedOf(id, 0));
    const before = await storedFiles();
    for (const text of ['too many', 'again']) assert.is((await remember(agent, { text }, key)).status, status, name);
    assert.is(await storedFiles(), before, name);
  }
});

test('a request that added the last permitted entry gets the same response when it is repeated', async () => {
  for (const [name, seedOf] of limits) {
    const { agent, id, key } = await newRunner();
    await seed(agent, id, seedOf(id, 1));
    const headers = { 'idempotency-key': `last-${agent}` };
    const first = await remember(agent, { text: 'the last' }, key, headers);
    const again = await remember(agent, { text: 'the last' }, key, headers);
    assert.equal([first.status, again.status, again.body], [201, 201, first.body], name);
  }
});

test('changes of an empty memory are accepted with `If-Match: *`, because a memory always exists and has no ETag', async () => {
  const { agent, key } = await newRunner();
  const since = new Date(p.clock.now()).toISOString();
  const forget = await p.send('POST', `${memoryOf(agent)}/forget`, { body: { since }, headers: { 'if-match': '*' } });
  assert.is(forget.status, 204, forget.text);
  for (const text of ['first', 'second']) {
    const { status, text: answer } = await remember(agent, { text }, key, { 'if-match': '*' });
    assert.is(status, 201, answer);
  }
  const before = await storedFiles();
  assert.is((await remember(agent, { text: 'third' }, key, { 'if-match': '"0"' })).status, 412);
  assert.is(await storedFiles(), before);
});

test('after another process has removed an entry of a full memory, an addition is accepted and its text can be read', async () => {
  const { agent, id, key } = await newRunner();
  await seed(agent, id, { entries: 99_998, runs: [99_998] });
  assert.is((await remember(agent, { text: 'the last' }, key)).status, 201);
  const removed = { first: entryIdOf(agent, 7), last: entryIdOf(agent, 7) };
  const meta = { tenant: p.tenant_id, actor: { kind: 'user', id: 'u1' } as const, at: new Date(p.clock.now()).toISOString(), v: 1 };
  const data = { agent_id: agent, entries: 1, ranges: [removed], since: null };
  await p.log.append(`${AgentMemory.category}-${p.tenant_id}.${agent}`, 2, [{ id: randomUUID(), type: 'MemoryForgotten', data, meta }]);
  const added = await remember(agent, { text: 'there is room again' }, key);
  assert.is(added.status, 201, added.text);
  const read = await p.send('GET', `${memoryOf(agent)}/${(added.body as { id: string }).id}`);
  assert.equal(read.body, added.body);
});

afterLastTest(async () => {
  await p.close();
});

test.run();
