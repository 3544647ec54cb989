import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { entryIdOf } from '../../domain/memory/entry-id.ts';
import { blobDirectoryOf } from '../../infra/blobs/blob-location.ts';
import { openDirectoryPlace } from '../../infra/blobs/open-blob-store.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createMemoryPlatform, type Json, linesOf, textsOf } from '../fixtures/memory-platform.ts';
import { addMember } from '../fixtures/users.ts';

const { p, newAgent, newRunner, memoryOf, remember, imported, list, recorded } = await createMemoryPlatform();

type Remembered = Json & { id: string; text: string; source: string; created_at: string; session_id: string | null };

const remembered = async (agent: string, text: string, key?: string): Promise<Remembered> => {
  const answer = await remember(agent, { text }, key);
  assert.is(answer.status, 201, answer.text);
  return answer.body as Remembered;
};
const summaryOf = async (agent: string, key: string) =>
  ((await p.send('GET', `${p.tenant}/agents/${agent}/runtime`, { key })).body as { memory: { entries: number; digest: string } }).memory;
const { backend } = openDirectoryPlace(blobDirectoryOf(p.dataDirectory));
/** Removes stored files, as `annals blobs gc --delete` does once no event needs them any more. */
const removeFiles = async (...digests: readonly string[]): Promise<void> => {
  for await (const entry of backend.list(p.tenant_id)) if (digests.includes(entry.sha256)) assert.ok(await backend.remove(entry));
};
/** Returns the digest of the text that was remembered last. */
const lastDigest = (): string => String((p.eventsOf('MemoryRemembered').at(-1)!.data as Json).sha256);
const errorOf = ({ body }: { body: unknown }): unknown => (body as { errors: Json[] }).errors?.[0]?.code;

test('what an agent remembers is at once in the list, in searches, and under its id, with its session and writer', async () => {
  const { agent, key, id: keyId } = await newRunner();
  const session = (await p.send('POST', `${p.tenant}/agents/${agent}/sessions`, { body: {}, key })).body as Json;
  const first = await remember(agent, { text: 'Ada likes short notes.', source: 'pull request 42', session_id: session.id }, key);
  assert.is(first.status, 201, first.text);
  const { id, created_at, ...rest } = first.body as Remembered;
  assert.equal(rest, {
    ...{ import_id: null, text: 'Ada likes short notes.', source: 'pull request 42', origin: 'remembered' },
    ...{ session_id: session.id, created_by_id: null, runner_key_id: keyId },
  });
  assert.match(created_at, /Z$/);
  assert.is(first.headers.get('location'), `${memoryOf(agent)}/${id}`);
  const me = ((await p.send('GET', '/me')).body as { user: Json }).user.id;
  const second = await remembered(agent, 'The release is on Tuesday.');
  assert.equal([second.created_by_id, second.runner_key_id, second.session_id, second.source], [me, null, null, 'remembered']);
  assert.equal(await list(agent), [second, first.body]);
  assert.equal(await list(agent, '?q=REQUEST%2042'), [first.body]);
  assert.equal((await p.send('GET', `${memoryOf(agent)}/${id}`, { key })).body, first.body);
});

test('pages go through imported and remembered entries in the order of time, in both directions', async () => {
  const agent = await newAgent();
  const texts = ['r1', 'i1', 'i2', 'r2', 'r3', 'i3', ...Array.from({ length: 30 }, (_, n) => `r${n + 4}`)];
  for (const text of ['r1', 'i', 'r2', 'r3', 'j', ...texts.slice(6)])
    if (text === 'i') await imported(agent, linesOf('i1', 'i2'), 'a.jsonl');
    else if (text === 'j') await imported(agent, linesOf('i3'), 'b.jsonl');
    else await remembered(agent, text);
  const pagesOf = async (query: string) => {
    const found: string[] = [];
    for (let path: string | null = `${memoryOf(agent)}?limit=8${query}`; path; ) {
      const { body, headers }: Awaited<ReturnType<typeof p.send>> = await p.send('GET', path);
      found.push(...textsOf(body as never));
      path = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? null;
    }
    return found;
  };
  const of = (kind: string) => texts.filter((text) => text.startsWith(kind));
  assert.equal(await pagesOf('&sort=created_at'), texts);
  assert.equal(await pagesOf(''), texts.toReversed());
  assert.equal(await pagesOf('&sort=created_at&origin=remembered'), of('r'));
  assert.equal(await pagesOf('&sort=created_at&origin=imported'), of('i'));
  assert.equal(await pagesOf('&q=R3'), ['r33', 'r32', 'r31', 'r30', 'r3']);
});

test('the summary in the runtime counts remembered entries, and its digest changes with each addition and removal', async () => {
  const { agent, key } = await newRunner();
  await imported(agent, linesOf('one', 'two'), 'a.jsonl');
  const summaries = [await summaryOf(agent, key)];
  const { id, created_at } = await remembered(agent, 'three', key);
  summaries.push(await summaryOf(agent, key));
  assert.is((await p.send('DELETE', `${memoryOf(agent)}/${id}`, { key })).status, 204);
  summaries.push(await summaryOf(agent, key));
  for (const text of ['four', 'five']) await remembered(agent, text, key);
  summaries.push(await summaryOf(agent, key));
  assert.is((await p.send('POST', `${memoryOf(agent)}/forget`, { body: { since: created_at } })).status, 204);
  summaries.push(await summaryOf(agent, key));
  assert.equal(
    summaries.map(({ entries }) => entries),
    [2, 3, 2, 4, 2],
  );
  assert.is(new Set(summaries.map(({ digest }) => digest)).size, 5);
});

test('an entry is removed once; an entry of an import is refused with the import to undo; unknown ones are not found', async () => {
  const { agent, key } = await newRunner();
  const other = await newRunner();
  const importId = await imported(agent, linesOf('imported'), 'a.jsonl');
  const { id } = await remembered(agent, 'mine', key);
  const forget = (entry: string, of = agent, by = key) => p.send('DELETE', `${memoryOf(of)}/${entry}`, { key: by });
  assert.is((await forget(id, other.agent, other.key)).status, 404);
  assert.is((await forget(id, agent, other.key)).status, 403);
  const refused = await forget(entryIdOf(importId, 0));
  assert.equal([refused.status, errorOf(refused), (refused.body as Json).import_id], [409, 'imported_entry', importId]);
  assert.match(refused.text, new RegExp(`undo the import with DELETE …/memory/imports/${importId}`));
  for (const unknown of [entryIdOf(importId, 1), entryIdOf(agent, 1), entryIdOf(other.agent, 0)])
    assert.is((await forget(unknown)).status, 404);
  assert.is((await forget(id)).status, 204);
  assert.is((await forget(id)).status, 404);
  assert.is((await p.send('GET', `${memoryOf(agent)}/${id}`)).status, 404);
  assert.equal(textsOf(await list(agent)), ['imported']);
  assert.is((await remembered(agent, 'again', key)).id, entryIdOf(agent, 1), 'an id is not used twice');
});

/** Runs `work` while the read models get no events. */
const whileHeldBack = async (work: () => Promise<void>): Promise<void> => {
  const held = Promise.withResolvers<void>();
  p.projectionDelay.until = held.promise;
  try {
    await work();
  } finally {
    p.projectionDelay.until = undefined;
    held.resolve();
    await p.waitForProjections();
  }
};

test('an entry that was just removed with its file is left out of the memory; a lost file of another one is reported', async () => {
  const { agent, key } = await newRunner();
  const kept = await remembered(agent, 'kept', key);
  const keptDigest = lastDigest();
  const gone = await remembered(agent, 'gone', key);
  const importId = await imported(agent, linesOf('imported'), 'a.jsonl');
  const { segments } = p.eventsOf('MemoryImported').at(-1)!.data as { segments: { sha256: string }[] };
  const read = (path: string) => p.send('GET', `${memoryOf(agent)}${path}`, { key });
  await whileHeldBack(async () => {
    for (const path of [gone.id, `imports/${importId}`]) assert.is((await p.send('DELETE', `${memoryOf(agent)}/${path}`)).status, 204);
    await removeFiles(lastDigest(), segments[0]!.sha256);
    for (const query of ['', '?limit=1', '?q=e']) assert.equal((await read(query)).body, [kept], query);
    for (const id of [gone.id, entryIdOf(importId, 0)]) assert.is((await read(`/${id}`)).status, 404);
    await removeFiles(keptDigest);
    assert.equal([(await read('')).status, (await read(`/${kept.id}`)).status], [503, 503]);
  });
});

test('a person removes everything that was remembered since a time; what is older, imported or of other agents stays', async () => {
  const { agent, key } = await newRunner();
  const { now } = p.clock;
  const start = now();
  const at = async (minutes: number, text: string) => {
    p.clock.now = () => start + minutes * 60_000;
    return remembered(agent, text, key);
  };
  const kept = [await at(0, 'a'), await at(30, 'b')];
  await imported(agent, linesOf('imported'), 'a.jsonl');
  const gone = [await at(60, 'c'), await at(60, 'd'), await at(90, 'e')];
  await p.send('DELETE', `${memoryOf(agent)}/${gone[1]!.id}`);
  const other = await newAgent();
  await remembered(other, 'of another');
  const forget = (since: unknown, by = p.key) => p.send('POST', `${memoryOf(agent)}/forget`, { body: { since } as Json, key: by });
  assert.is((await forget(gone[0]!.created_at, key)).status, 403, 'a runner');
  assert.equal([(await forget('yesterday')).status, (await forget(undefined)).status], [422, 422]);
  assert.is((await forget(gone[0]!.created_at)).status, 204);
  p.clock.now = now;
  assert.equal(
    textsOf(await list(agent, '?sort=created_at')).filter((text) => text !== 'imported'),
    ['a', 'b'],
  );
  assert.equal(textsOf(await list(other)), ['of another']);
  const [event, ...more] = p.eventsOf('MemoryForgotten').filter(({ id, data }) => id === agent && (data as Json).since !== null);
  assert.equal([more.length, (event!.data as Json).entries], [0, 2]);
  assert.is((await forget(gone[0]!.created_at)).status, 204, 'nothing is left');
  assert.is((await forget(kept[0]!.created_at)).status, 204);
  assert.equal(await list(agent, '?origin=remembered'), []);
});

test('a repeat with the same Idempotency-Key adds the entry once and gets the same response', async () => {
  const { agent, key } = await newRunner();
  const headers = { 'idempotency-key': 'remember-1' };
  const first = await remember(agent, { text: 'once' }, key, headers);
  await remembered(agent, 'another', key);
  const again = await remember(agent, { text: 'once' }, key, headers);
  assert.equal([first.status, again.status, again.body], [201, 201, first.body]);
  assert.is((await remember(agent, { text: 'other' }, key, headers)).status, 422);
  assert.equal(textsOf(await list(agent)), ['another', 'once']);
});

test('a repeat with the same Idempotency-Key does not store a text again that was forgotten and whose file was removed', async () => {
  const { agent, key } = await newRunner();
  const headers = { 'idempotency-key': 'remember-2' };
  const first = await remember(agent, { text: 'forgotten' }, key, headers);
  assert.is((await p.send('DELETE', `${memoryOf(agent)}/${(first.body as Remembered).id}`, { key })).status, 204);
  await removeFiles(lastDigest());
  const again = await remember(agent, { text: 'forgotten' }, key, headers);
  assert.equal([again.status, again.body], [201, first.body]);
  assert.is(await p.blobs.of(p.tenant_id).exists(lastDigest()), false);
});

const refusedBodies: readonly (readonly [name: string, body: Json, pointer: string])[] = [
  ['no text', {}, '/text'],
  ['an empty text', { text: '' }, '/text'],
  ['a blank text', { text: ' \n ' }, '/text'],
  ['a text of 8,001 characters', { text: 'x'.repeat(8_001) }, '/text'],
  ['a text with U+0000', { text: 'a\0b' }, ''],
  ['a source on two lines', { text: 'a', source: 'a\nb' }, '/source'],
  ['an unknown session', { text: 'a', session_id: 'cs6d2f9g1h4j7k0l3z8x5c2v1' }, '/session_id'],
  ['another field', { text: 'a', tags: [] }, '/tags'],
];

test('a text that cannot be remembered is refused with the field and the reason, and nothing is recorded', async () => {
  const { agent, key } = await newRunner();
  const other = await newRunner();
  const session = (await p.send('POST', `${p.tenant}/agents/${other.agent}/sessions`, { body: {}, key: other.key })).body as Json;
  const before = p.eventsOf('MemoryRemembered').length;
  const cases = [...refusedBodies, ['a session of another agent', { text: 'a', session_id: session.id }, '/session_id'] as const];
  for (const [name, body, pointer] of cases) {
    const answer = await remember(agent, body, key);
    assert.equal([answer.status, (answer.body as { errors?: Json[] }).errors?.[0]?.pointer], [422, pointer], name);
  }
  assert.is(p.eventsOf('MemoryRemembered').length, before);
  assert.is((await remember(agent, { text: 'x'.repeat(8_000) }, key)).status, 201);
});

test('remembered texts and their sources are redacted, and neither in the log nor in the read models', async () => {
  const { agent, key } = await newRunner();
  const patterns = [{ tag: 'card', pattern: 'card-\\d+' }];
  const set = await p.send('PUT', `${p.tenant}/redaction-patterns`, { body: patterns as never });
  assert.ok(set.status < 300, set.text);
  const answer = await remember(agent, { text: 'the canary bird has card-123', source: 'the letter about card-456' }, key);
  assert.is(answer.status, 201, answer.text);
  const redacted = { text: 'the canary bird has [redacted:card]', source: 'the letter about [redacted:card]' };
  for (const { text, source } of [answer.body as Remembered, (await list(agent))[0]!]) assert.equal({ text, source }, redacted);
  assert.not.ok(recorded().includes('canary bird'));
  const rows = [...p.foldedRows('memory', 'remembered').values()];
  assert.ok(rows.length > 0);
  assert.not.ok(JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value)).includes('canary bird'));
  await remembered(agent, 'same', key);
  await remembered(agent, 'same', key);
  const digests = p.eventsOf('MemoryRemembered').map(({ data }) => (data as Json).sha256);
  assert.is(new Set(digests).size, digests.length, 'the digest does not reveal the text');
});

test('who may only read an agent, or has the key of another, can neither add nor remove entries', async () => {
  const { agent } = await newRunner();
  const other = await newRunner();
  const { id, created_at } = await remembered(agent, 'kept');
  const { user_id, key } = await addMember(p, 'MEMBER');
  await p.send('POST', `${p.tenant}/agents/${agent}/grants`, { body: { user_id, role: 'VIEWER' } });
  for (const by of [key, other.key]) {
    assert.is((await remember(agent, { text: 'a' }, by)).status, 403);
    assert.is((await p.send('DELETE', `${memoryOf(agent)}/${id}`, { key: by })).status, 403);
    assert.is((await p.send('POST', `${memoryOf(agent)}/forget`, { body: { since: created_at }, key: by })).status, 403);
  }
  assert.equal(textsOf(await list(agent)), ['kept']);
});

test('concurrent additions and removals are all counted, and no entry gets the id of another', async () => {
  const { agent, key } = await newRunner();
  const entries = await Promise.all(Array.from({ length: 20 }, (_, n) => remembered(agent, `text ${n}`, n % 2 ? key : p.key)));
  assert.is(new Set(entries.map(({ id }) => id)).size, 20);
  const removals = await Promise.all(
    entries
      .slice(0, 5)
      .flatMap(({ id }) => [id, id])
      .map((id) => p.send('DELETE', `${memoryOf(agent)}/${id}`)),
  );
  assert.equal(removals.filter(({ status }) => status === 204).length, 5);
  assert.is((await summaryOf(agent, key)).entries, 15);
  assert.is((await list(agent)).length, 15);
});

test('the audit log says who added and removed entries of the memory of which agent', async () => {
  const { agent, key } = await newRunner();
  const { id } = await remembered(agent, 'a', key);
  await p.send('DELETE', `${memoryOf(agent)}/${id}`);
  const entries = (await p.send('GET', `${p.tenant}/audit-logs?agent_id=${agent}&limit=2`)).body as Json[];
  assert.equal(
    entries.map(({ action, resource_type, resource_id }) => [action, resource_type, resource_id]),
    [
      ['memory.forgotten', 'agent', agent],
      ['memory.remembered', 'agent', agent],
    ],
  );
  assert.match(String(entries[0]!.summary), /removed 1 remembered entries from the memory of the agent/);
});

afterLastTest(async () => {
  await p.close();
});

test.run();
