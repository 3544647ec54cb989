// share
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createGuardedClient } from '../../infra/egress/guarded-client.ts';
import { createFileHost } from '../../infra/memory/file-host.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import type { FormPart } from '../fixtures/form-body.ts';
import { hostileArchives } from '../fixtures/hostile-archives.ts';
import { createMemoryPlatform, fileOf, type Json, linesOf, textsOf } from '../fixtures/memory-platform.ts';
import { openShare } from '../fixtures/share.ts';
import { zipArchive } from '../fixtures/zip-archive.ts';

const files: Record<string, { readonly status?: number; readonly body: string | Buffer }> = {};
const requested: string[] = [];
const server = createServer(({ url }, response) => {
  requested.push(url!);
  const { status = 200, body } = files[url!.split('?')[0]!] ?? { status: 404, body: '' };
  response.writeHead(status).end(body);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
const client = createGuardedClient({ allow: [`127.0.0.1:${port}`] });
const direct = createFileHost(client);
/** Redirects downloads from Google's storage host, and from a made-up host, to the local server of this test. */
const local = (url: string) => url.replace(/^https:\/\/(?:storage\.googleapis\.com|files\.test)/, `http://127.0.0.1:${port}`);
const share = openShare();
const platform = await createMemoryPlatform({ files: { download: (url, consume) => direct.download(local(url), consume) } });
const { p, newAgent, memoryOf, post, finishImports, imported, list, recorded } = platform;

test('the import of an uploaded text has the status running at first; after the import has ended, the memory has one entry with the source', async () => {
  const agent = await newAgent();
  const { status, body, headers } = await post(agent, [fileOf('The release branch is cut on Tuesdays.\n\nAsk Ada first.\n')]);
  const { id, created_at, ...rest } = body as Json;
  assert.is(status, 202);
  assert.ok(headers.get('etag'));
  assert.match(created_at as string, /Z$/);
  assert.equal(rest, { status: 'running', entries: 0, error: null });
  assert.equal(await list(agent), []);
  await finishImports();
  const [entry, ...others] = await list(agent);
  assert.equal(others, []);
  assert.equal(
    [entry!.import_id, entry!.source, entry!.text],
    [id, 'notes.txt', 'The release branch is cut on Tuesdays.\n\nAsk Ada first.'],
  );
  assert.match(entry!.id, /^c[a-z0-9]{24}$/);
});

test('each line of an imported JSON Lines file becomes an entry, with its own source if the line names one', async () => {
  const agent = await newAgent();
  const content = `${JSON.stringify({ text: 'one', source: 'wiki', tags: ['x'] })}\n\n"two"\r\n${JSON.stringify({ text: 'three' })}`;
  const id = await imported(agent, content, 'memories.jsonl');
  const entries = await list(agent);
  assert.equal(
    entries.map(({ text, source }) => [text, source]),
    [
      ['three', 'memories.jsonl'],
      ['two', 'memories.jsonl'],
      ['one', 'wiki'],
    ],
  );
  assert.ok(entries.every(({ import_id }) => import_id === id));
});

test('if the name of a file has no extension that tells the type, JSON Lines are recognized by the first line', async () => {
  const agent = await newAgent();
  await imported(agent, linesOf('one', 'two'), 'export');
  assert.equal(textsOf(await list(agent)), ['two', 'one']);
});

test('each text in an imported zip archive becomes an entry with its path as the source; files that operating systems add to archives are skipped', async () => {
  const agent = await newAgent();
  const archive = zipArchive([
    { name: 'docs/a.md', content: 'A' },
    { name: 'docs/b.jsonl', content: linesOf('B1', 'B2') },
    { name: '__MACOSX/docs/._a.md', content: Buffer.from([0, 255, 1]) },
    { name: 'docs/.DS_Store', content: Buffer.from([0, 255, 1]) },
  ]);
  await imported(agent, archive, 'docs.zip');
  assert.equal(
    (await list(agent)).map(({ text, source }) => [text, source]),
    [
      ['B2', 'docs/b.jsonl'],
      ['B1', 'docs/b.jsonl'],
      ['A', 'docs/a.md'],
    ],
  );
});

test('texts of Windows are imported alone and in an archive: UTF-16, arrays in JSON, and metadata beside them', async () => {
  const agent = await newAgent();
  const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');
  const array = '[{"text":"one","source":"wiki"},{"text":"two"}]';
  await imported(agent, utf16('grün\r\n'), 'notes.txt');
  await imported(agent, array, 'a.json');
  const archive = zipArchive([
    { name: 'docs\\a.txt', content: utf16('in UTF-16') },
    { name: 'docs\\b.json', content: utf16(array) },
    { name: 'docs\\desktop.ini', content: Buffer.from([0xff, 0, 0xff]) },
    { name: 'Thumbs.db', content: Buffer.from([0xff, 0, 0xff]) },
  ]);
  await imported(agent, archive, 'docs.zip');
  assert.equal((await list(agent)).map(({ text, source }) => `${source}: ${text}`).toReversed(), [
    ...['notes.txt: grün', 'wiki: one', 'a.json: two'],
    ...['docs/a.txt: in UTF-16', 'wiki: one', 'docs/b.json: two'],
  ]);
});

test('a file can be imported from a gs:// URI or a signed URL, and the signature of the URL is not stored', async () => {
  const agent = await newAgent();
  files['/notes-bucket/a%20b/notes.jsonl'] = { body: linesOf('from the bucket') };
  const first = await post(agent, [{ name: 'gcs_uri', content: 'gs://notes-bucket/a b/notes.jsonl' }]);
  assert.is(first.status, 202, first.text);
  const second = await post(agent, [
    { name: 'gcs_uri', content: 'https://files.test/notes-bucket/a%20b/notes.jsonl?X-Goog-Signature=5ec2e7' },
  ]);
  assert.is(second.status, 202, second.text);
  await finishImports();
  assert.equal(textsOf(await list(agent)), ['from the bucket', 'from the bucket']);
  assert.ok(requested.some((url) => url.includes('X-Goog-Signature=5ec2e7')));
  assert.not.ok(recorded().includes('5ec2e7'));
  assert.equal(
    new Set((await list(agent)).map(({ source }) => source)),
    new Set(['gs://notes-bucket/a b/notes.jsonl', 'https://files.test/notes-bucket/a%20b/notes.jsonl']),
  );
});

test('an import is refused and appends no event if its gcs_uri is malformed or forbidden, or if the host fails', async () => {
  const agent = await newAgent();
  const before = p.log.events.length;
  const statusOf = async (gcs_uri: string) => {
    const { status, body } = await post(agent, [{ name: 'gcs_uri', content: gcs_uri }]);
    return [status, ((body as { errors?: Json[] }).errors ?? [{}])[0]!.code];
  };
  for (const uri of ['notes.txt', 'gs://b/x', 'gs://bucket/', 'gs://bucket/../other/x', 'http://example.com/x', 'file:///etc/passwd'])
    assert.equal(await statusOf(uri), [422, 'invalid_gcs_uri'], uri);
  assert.equal(await statusOf('https://169.254.169.254/latest/meta-data'), [422, 'forbidden_url']);
  assert.equal(await statusOf('gs://notes-bucket/missing'), [502, undefined]);
  files['/notes-bucket/large'] = { body: Buffer.alloc(25 * 1024 * 1024 + 1, 'a\n') };
  assert.equal(await statusOf('gs://notes-bucket/large'), [502, undefined]);
  files['/notes-bucket/binary'] = { body: Buffer.from([255, 254, 0]) };
  assert.equal(await statusOf('gs://notes-bucket/binary'), [422, 'no_text']);
  assert.is(p.log.events.length, before);
});

test('a request for an import must have exactly one of file and gcs_uri, and no other field', async () => {
  const agent = await newAgent();
  const uri = { name: 'gcs_uri', content: 'gs://notes-bucket/a b/notes.jsonl' };
  const codeOf = async (...parts: FormPart[]) => {
    const { status, body } = await post(agent, parts);
    return [status, (body as { errors: Json[] }).errors[0]!.code];
  };
  assert.equal(await codeOf(), [422, 'one_source']);
  assert.equal(await codeOf(fileOf('a'), uri), [422, 'one_source']);
  assert.equal(await codeOf(fileOf('a'), { name: 'other', content: 'x' }), [422, 'unknown_field']);
  assert.equal(await codeOf(fileOf('a'), fileOf('b')), [422, 'duplicate']);
  assert.equal(await codeOf({ name: 'file', content: 'a' }), [422, 'no_file']);
  assert.is((await p.send('POST', `${memoryOf(agent)}/import`, { body: { gcs_uri: 'gs://a/b' } })).status, 415);
});

test('an import is refused with the reason, and stores nothing, if the file is not a text, has no entries or has an invalid line', async () => {
  const agent = await newAgent();
  const before = p.log.events.length;
  const refusalOf = async (content: string | Uint8Array, filename?: string) => {
    const { status, body } = await post(agent, [fileOf(content, filename)]);
    const [error] = (body as { errors: Json[] }).errors;
    return [status, error!.pointer, error!.code, error!.message];
  };
  assert.equal(await refusalOf(Buffer.from([0x89, 0x50, 0xff]), 'a.png'), [
    422,
    '/file',
    'no_text',
    'The file is not a text in UTF-8, but perhaps in Windows-1252 (ANSI): save it as plain text in UTF-8 (in Notepad and Excel: Save as, with UTF-8 as the encoding or type)',
  ]);
  assert.equal((await refusalOf('a\0b')).slice(0, 3), [422, '/file', 'no_text']);
  assert.equal((await refusalOf(' \n\n')).slice(0, 3), [422, '/file', 'no_entries']);
  assert.equal((await refusalOf('')).slice(0, 3), [422, '/file', 'no_entries']);
  assert.equal(await refusalOf(`${linesOf('ok')}{"text":1}`, 'a.jsonl'), [
    422,
    '/file',
    'malformed_line',
    'The file: line 2 has a text that is not a string, or contains U+0000 or an unpaired surrogate',
  ]);
  assert.equal((await refusalOf(linesOf('x'.repeat(65_537)), 'a.jsonl')).slice(0, 3), [422, '/file', 'malformed_line']);
  assert.equal((await refusalOf('no zip', 'a.zip')).slice(0, 3), [422, '/file', 'damaged']);
  const binary = zipArchive([{ name: 'a.bin', content: Buffer.from([255, 0, 255]) }]);
  const [status, pointer, code, message] = await refusalOf(binary, 'a.zip');
  assert.equal([status, pointer, code], [422, '/file', 'no_text']);
  assert.match(String(message), /^"a\.bin" is not a text in UTF-8, but has bytes that only programs write: save it/);
  assert.equal((await refusalOf(linesOf('x').repeat(100_001), 'a.jsonl')).slice(0, 3), [422, '/file', 'too_many_entries']);
  assert.is(p.log.events.length, before);
});

share.test('importing a hostile archive is refused and appends no event', async () => {
  const agent = await newAgent();
  const before = p.log.events.length;
  const archives = share.casesOf(
    hostileArchives(),
    ([fault]) => fault,
    ([, code]) => code,
  );
  for (const [name, code, archive] of archives) {
    const { status, body } = await post(agent, [fileOf(archive, 'a.zip')]);
    const [error] = (body as { errors: Json[] }).errors;
    assert.equal([status, error!.pointer], [422, '/file'], name);
    // In some archives, a file is not a text. They may be refused with `no_text` before the fault for which the test
    // made them is found.
    assert.ok([code, 'no_text'].includes(error!.code as string), `${name}: ${error!.code}`);
  }
  assert.is(p.log.events.length, before);
});

test('an import of 25 MiB is accepted; with one more byte, or with an archive above 10 MiB, it gets 413, and the response names the limit', async () => {
  const agent = await newAgent();
  const limit = 25 * 1024 * 1024;
  const text = Buffer.alloc(limit, 'The quick brown fox jumps over the lazy dog.\n');
  const larger = await post(agent, [fileOf(Buffer.concat([text, Buffer.from('x')]))]);
  assert.equal([larger.status, (larger.body as Json).limit], [413, limit]);
  const archive = await post(agent, [fileOf(Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(10 * 1024 * 1024)]), 'a.zip')]);
  assert.equal([archive.status, (archive.body as Json).limit], [413, 10 * 1024 * 1024]);
  const id = await imported(agent, text);
  const job = await p.send('GET', `${p.tenant}/jobs/${id}`);
  const { done, total, status } = job.body as { done: number; total: number; status: string };
  assert.equal([status, done], ['done', total]);
  assert.ok(total >= limit / 8_000 && total < limit / 3_900, `${total}`);
});

test('a repeated import with the same Idempotency-Key imports the file once; another file with the same key gets 422', async () => {
  const agent = await newAgent();
  const headers = { 'idempotency-key': 'import-1' };
  const first = await post(agent, [fileOf('once')], headers);
  const again = await post(agent, [fileOf('once')], headers);
  assert.equal([first.status, again.status, again.body], [202, 202, first.body]);
  assert.is((await post(agent, [fileOf('other')], headers)).status, 422);
  await finishImports();
  assert.equal(textsOf(await list(agent)), ['once']);
});

afterLastTest(async () => {
  await p.close();
  await client.close();
  server.close();
});

test.run();
