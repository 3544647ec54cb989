import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { finishImport } from '../../commands/memory/import-memory.reactor.ts';
import * as MemoryImport from '../../domain/memory/memory-import.ts';
import { unpackZip } from '../../infra/archives/unpack-zip.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createMemoryPlatform, type Entry, fileOf, type Json, linesOf, textsOf } from '../fixtures/memory-platform.ts';
import { addMember } from '../fixtures/users.ts';

const { p, importContext, newAgent, memoryOf, post, finishImports, imported, list, recorded } = await createMemoryPlatform();

test("the pages of a memory's list contain every entry once, newest first, or oldest first with sort=created_at", async () => {
  const agent = await newAgent();
  const texts = Array.from({ length: 70 }, (_, n) => `entry ${n} ${'x'.repeat(20_000)}`);
  await imported(agent, linesOf(...texts.slice(0, 30)), 'a.jsonl');
  await imported(agent, linesOf(...texts.slice(30, 33)), 'b.jsonl');
  await imported(agent, linesOf(...texts.slice(33)), 'c.jsonl');
  const pagesOf = async (query: string) => {
    const found: string[] = [];
    for (let path: string | null = `${memoryOf(agent)}?limit=7${query}`; path; ) {
      const { status, body, headers, text }: Awaited<ReturnType<typeof p.send>> = await p.send('GET', path);
      assert.is(status, 200, text);
      assert.ok((body as Entry[]).length <= 7);
      found.push(...textsOf(body as Entry[]));
      path = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? null;
    }
    return found;
  };
  assert.equal(await pagesOf(''), texts.toReversed());
  assert.equal(await pagesOf('&sort=-created_at'), texts.toReversed());
  assert.equal(await pagesOf('&sort=created_at'), texts);
  assert.equal(
    await pagesOf('&q=ENTRY%206'),
    [69, 68, 67, 66, 65, 64, 63, 62, 61, 60, 6].map((n) => texts[n]),
  );
  assert.equal(await pagesOf('&q=b.jsonl'), texts.slice(30, 33).toReversed());
});

test('a search in the memory that has to read more than 32 segments continues on the next page, and finds all matches', async () => {
  const agent = await newAgent();
  const texts = Array.from({ length: 500 }, (_, n) => (n === 3 ? 'the needle' : 'y'.repeat(30_000)));
  await imported(agent, linesOf(...texts), 'a.jsonl');
  const first = await p.send('GET', `${memoryOf(agent)}?q=needle`);
  assert.equal(first.body, []);
  const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link')!)![1]!;
  const second = await p.send('GET', next);
  assert.equal(textsOf(second.body as Entry[]), ['the needle']);
  assert.is(second.headers.get('link'), null);
});

test('undoing an import removes exactly the entries of that import; undoing it a second time gets 404', async () => {
  const agent = await newAgent();
  const other = await newAgent();
  const kept = await imported(agent, linesOf('kept 1', 'kept 2'), 'a.jsonl');
  const undone = await imported(agent, linesOf('undone 1', 'undone 2'), 'a.jsonl');
  const undo = (of: string) => p.send('DELETE', `${memoryOf(of)}/imports/${undone}`);
  assert.is((await undo(other)).status, 404, 'of another agent');
  assert.is((await undo(agent)).status, 204);
  assert.equal(textsOf(await list(agent)), ['kept 2', 'kept 1']);
  assert.equal(textsOf(await list(agent, `?import_id=${kept}`)), ['kept 2', 'kept 1']);
  assert.equal(await list(agent, `?import_id=${undone}`), []);
  assert.is((await undo(agent)).status, 404);
  assert.is(p.eventsOf('MemoryImportUndone').length, 1);
});

test('an import that is undone before its job has run adds no entries to the memory', async () => {
  const agent = await newAgent();
  const { body } = await post(agent, [fileOf('never')]);
  const { id } = body as { id: string };
  assert.is((await p.send('DELETE', `${memoryOf(agent)}/imports/${id}`)).status, 204);
  await finishImports();
  await finishImport(importContext, { id, unpack: unpackZip });
  assert.equal(await list(agent), []);
  assert.is(((await p.send('GET', `${p.tenant}/jobs/${id}`)).body as Json).status, 'cancelled');
});

/** More than an import appends at once. */
const ENTRIES = 12_000;

test('a large import shows its progress; after a crash, another worker completes the import without adding an entry twice', async () => {
  const agent = await newAgent();
  const texts = Array.from({ length: ENTRIES }, (_, n) => `entry ${n} ${'z'.repeat(100)}`);
  const { body } = await post(agent, [fileOf(linesOf(...texts), 'a.jsonl')]);
  const { id } = body as { id: string };
  let appends = 0;
  const transact: typeof importContext.transact = async (...transaction) => {
    if (appends++ === 1) throw new Error('killed');
    return importContext.transact(...transaction);
  };
  const file = { id, unpack: unpackZip };
  await finishImport({ ...importContext, transact }, file).catch((error: Error) => assert.is(error.message, 'killed'));
  const job = (await p.send('GET', `${p.tenant}/jobs/${id}`)).body as { done: number; total: number; status: string };
  assert.equal([job.status, job.total], ['running', ENTRIES]);
  assert.ok(job.done >= 10_000 && job.done < ENTRIES, `${job.done}`);
  assert.equal(await list(agent), [], 'entries appear all at once');
  await finishImport(importContext, file);
  await finishImport(importContext, file);
  assert.is(p.eventsOf('MemoryImported').filter((event) => event.id === id).length, 1);
  assert.equal(textsOf(await list(agent, '?limit=2')), [texts.at(-1), texts.at(-2)]);
  assert.is(((await p.send('GET', `${p.tenant}/jobs/${id}`)).body as Json).done, ENTRIES);
});

test('a running import job can be cancelled; cancelling a finished one gets 409', async () => {
  const agent = await newAgent();
  const { body } = await post(agent, [fileOf('text')]);
  const { id } = body as { id: string };
  const cancel = () => p.send('POST', `${p.tenant}/jobs/${id}/cancel`, {});
  const { status, body: job } = await cancel();
  assert.equal([status, (job as Json).status, (job as Json).kind], [200, 'cancelled', 'memory_import']);
  assert.is((await cancel()).status, 200);
  const done = await imported(agent, 'text');
  assert.is((await p.send('POST', `${p.tenant}/jobs/${done}/cancel`, {})).status, 409);
});

test('if the stored file of an import is lost, the import fails with the reason', async () => {
  const agent = await newAgent();
  const { body } = await post(agent, [fileOf('lost')]);
  const { id } = body as { id: string };
  const missing = { ...importContext, blobs: { ...importContext.blobs, get: async () => null } };
  await finishImport(missing, { id, unpack: unpackZip });
  const job = (await p.send('GET', `${p.tenant}/jobs/${id}`)).body as Json;
  assert.equal([job.status, job.error], ['failed', 'The file is no longer stored']);
});

test('the texts of a memory are neither in the log nor in the read models', async () => {
  const agent = await newAgent();
  await imported(agent, linesOf('a very secret canary'), 'a.jsonl');
  assert.equal(textsOf(await list(agent)), ['a very secret canary']);
  assert.not.ok(recorded().includes('canary'));
  const rows = [...p.foldedRows('memory', 'imports').values()];
  assert.ok(rows.length > 0);
  assert.not.ok(JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value)).includes('canary'));
});

test("a caller who may only read an agent can see the agent's memory and import jobs; requests to import or undo are refused", async () => {
  const agent = await newAgent();
  const id = await imported(agent, 'text');
  const { user_id, key } = await addMember(p, 'MEMBER');
  assert.is((await p.send('GET', memoryOf(agent), { key })).status, 404);
  assert.is((await p.send('GET', `${p.tenant}/jobs/${id}`, { key })).status, 403);
  await p.send('POST', `${p.tenant}/agents/${agent}/grants`, { body: { user_id, role: 'VIEWER' } });
  assert.is((await p.send('GET', memoryOf(agent), { key })).status, 200);
  assert.is((await p.send('GET', `${p.tenant}/jobs/${id}`, { key })).status, 200);
  assert.is((await post(agent, [fileOf('x')], {}, key)).status, 403);
  assert.is((await p.send('DELETE', `${memoryOf(agent)}/imports/${id}`, { key })).status, 403);
});

test('the list of jobs has imports and replays with who requested them; who may not read deliveries sees imports of their agents only', async () => {
  const jobs = async (query = '', key = p.key) => {
    const answer = await p.send('GET', `${p.tenant}/jobs${query}`, { key });
    assert.is(answer.status, 200, answer.text);
    return answer.body as Json[];
  };
  const agent = await newAgent();
  const id = await imported(agent, 'text');
  const replay = await p.send('POST', `${p.tenant}/deliveries/replay`, { body: {} });
  assert.is(replay.status, 202, replay.text);
  await p.waitForProjections();
  const [newest, before] = await jobs();
  const me = ((await p.send('GET', '/me')).body as { user: Json }).user.id;
  assert.equal(
    [newest!.id, newest!.kind, newest!.agent_id, newest!.requested_by_id],
    [(replay.body as Json).id, 'deliveries_replay', null, me],
  );
  const { agent_id, requested_by_id, ...job } = before!;
  assert.equal([agent_id, requested_by_id], [agent, me]);
  assert.equal(job, (await p.send('GET', `${p.tenant}/jobs/${id}`)).body);
  assert.equal(
    (await jobs('?kind=deliveries_replay')).map(({ kind }) => kind),
    ['deliveries_replay'],
  );
  assert.ok((await jobs('?status=done&kind=memory_import')).every(({ status }) => status === 'done'));
  const { user_id, key } = await addMember(p, 'MEMBER', p.tenant_id, 'reader@example.com');
  assert.equal(await jobs('', key), []);
  await p.send('POST', `${p.tenant}/agents/${agent}/grants`, { body: { user_id, role: 'VIEWER' } });
  assert.equal(
    (await jobs('', key)).map((one) => one.id),
    [id],
  );
});

test('starting, advancing or finishing an import that is already completed emits no event', () => {
  const state = { ...MemoryImport.initial, status: 'done' as const, agent_id: 'a' };
  assert.equal(MemoryImport.start('a', state)(state), []);
  assert.equal(MemoryImport.finish([])(state), []);
  assert.equal(MemoryImport.advance(5)(state), []);
});

afterLastTest(async () => {
  await p.close();
});

test.run();
