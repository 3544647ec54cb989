// share, limit: 240

import { hash, randomBytes } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { BOUNDARY, FORM_TYPE, type FormPart, formBody } from '../fixtures/form-body.ts';
import { hostileArchives } from '../fixtures/hostile-archives.ts';
import { openShare } from '../fixtures/share.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';
import { skillArchive, skillText, type ZipEntry, zipArchive } from '../fixtures/zip-archive.ts';

type Json = Record<string, unknown>;

const share = openShare();
const p = await createTestPlatform();
const path = `${p.tenant}/skills/import`;
const MAX_BYTES = 10 * 1024 * 1024;
let count = 0;
const newName = (): string => `skill-${count++}`;
const file = (content: string | Uint8Array): FormPart => ({ name: 'upload', filename: 'skill.zip', content });
const sendBody = (raw: string | Uint8Array, headers: Record<string, string> = {}, key = p.key): Promise<Answer> =>
  p.send('POST', path, { key, raw, headers: { 'content-type': FORM_TYPE, ...headers } });
const upload = (archive: Uint8Array, headers = {}, key?: string): Promise<Answer> => sendBody(formBody(file(archive)), headers, key);
const manifest = (text: string | Buffer): Promise<Answer> => upload(zipArchive([{ name: 'SKILL.md', content: text, stored: true }]));
const faultOf = ({ status, body }: Answer) => {
  const { code, errors } = body as { code: string; errors?: { pointer: string; code: string }[] };
  return [status, code, errors?.[0] && `${errors[0].pointer} ${errors[0].code}`];
};
const storedBytes = async (digest: unknown): Promise<Buffer | null> => {
  const blob = await p.systemContext(p.tenant_id).blobs.get(String(digest));
  return blob && Buffer.concat(await Array.fromAsync(blob.content));
};

test('an imported skill has the name, description and instructions from its SKILL.md; its archive is stored under its digest', async () => {
  const archive = skillArchive('PDF Forms', [{ name: 'scripts/fill.py', content: 'print(1)' }]);
  const answer = await upload(archive);
  const { id, tenant_id, digest, ...rest } = omit(answer.body as Json, 'created_at', 'updated_at');
  const sha256 = hash('sha256', archive, 'hex');
  assert.is(answer.status, 201, answer.text);
  assert.equal(rest, {
    name: 'PDF Forms',
    slug: 'pdf-forms',
    description: 'Fills in PDF forms',
    visibility: 'private',
    instructions: 'Fill in the form.',
    config_schema: null,
    version: 1,
    is_exposed: false,
    source: 'imported',
    author_agent_id: null,
    package_digest: sha256,
    package_bytes: archive.length,
    listing_id: null,
    listing_version: null,
  });
  assert.is(answer.headers.get('location'), `/tenant/${tenant_id}/skills/${id}`);
  assert.equal((await p.send('GET', `${p.tenant}/skills/${id}`)).body, answer.body);
  assert.equal(await storedBytes(sha256), archive);
  assert.is((p.eventsOf('SkillImported').at(-1)!.data as Json).package_digest, sha256);
  assert.match(digest as string, /^[0-9a-f]{64}$/);
});

test('the import finds SKILL.md at the top of the archive or in its only folder, whatever files macOS adds; elsewhere it does not', async () => {
  const content = (name: string) => ({ content: skillText(name) });
  const accepted: ZipEntry[][] = [
    [{ name: 'folder/SKILL.md', ...content(newName()) }, { name: 'folder/a/b' }],
    [{ name: 'a/b/SKILL.md', ...content(newName()) }],
    [
      { name: 'greeter\\SKILL.md', ...content(newName()) },
      { name: 'greeter\\a.txt', content: 'x' },
    ],
    [{ name: 'greeter/SKILL.md', ...content(newName()) }, { name: '.DS_Store' }, { name: '._greeter' }, { name: '__MACOSX/._greeter' }],
    [
      { name: 'greeter/SKILL.md', ...content(newName()) },
      { name: 'desktop.ini' },
      { name: '.git/config' },
      { name: '__MACOSX/greeter/._a' },
    ],
    [
      { name: 'other/SKILL.md', content: 'another one' },
      { name: 'SKILL.md', ...content(newName()) },
    ],
  ];
  for (const entries of accepted) assert.is((await upload(zipArchive(entries))).status, 201);
  const refused: ZipEntry[][] = [
    [{ name: 'README.md' }],
    [{ name: 'skill.md', ...content('x') }],
    [
      { name: 'a/SKILL.md', ...content('x') },
      { name: 'b/SKILL.md', ...content('y') },
    ],
    [{ name: 'a/SKILL.md', ...content('x') }, { name: 'README.md' }],
  ];
  for (const entries of refused) assert.equal(faultOf(await upload(zipArchive(entries))), [422, 'invalid', '/upload no_manifest']);
});

test('importing a skill is refused if its SKILL.md is not UTF-8, has no front matter or lacks a field', async () => {
  const yaml = (lines: string, body = 'Do it') => `---\n${lines}\n---\n${body}`;
  const texts = [
    Buffer.from([0xff, 0xfe, 0x00]),
    '',
    'no YAML',
    '---\nname: a\ndescription: b\n',
    yaml('name: a'),
    yaml('description: b'),
    yaml('name: [a]\ndescription: b'),
    yaml('- name\n- description'),
    yaml('name: a\nname: b\ndescription: c'),
    yaml('name: "\\0"\ndescription: b'),
    yaml('name: a\ndescription: "\\uD800"'),
    yaml('name: "two\\nlines"\ndescription: b'),
    yaml('name: a\ndescription: b', ''),
    yaml('name: a\ndescription: b', ' \n\n '),
    yaml('name: a\ndescription: b', 'a\0b'),
    yaml('name: a\ndescription: b', 'x'.repeat(100_001)),
    yaml(`name: ${'x'.repeat(65)}\ndescription: b`),
    yaml(`name: a\ndescription: ${'x'.repeat(1_025)}`),
    yaml(`name: a\ndescription: b\nmore: ${'x'.repeat(17_000)}`),
    yaml('name: "„“"\ndescription: b'),
  ];
  for (const text of texts)
    assert.equal(faultOf(await manifest(text)), [422, 'invalid', '/upload bad_manifest'], String(text).slice(0, 80));
  assert.equal(faultOf(await manifest('x'.repeat(600_000))), [422, 'invalid', '/upload file_too_large']);
  const events = p.log.events.length;
  assert.is(
    (await manifest(yaml(`name: ${newName()}\ndescription: "it: is"\nlicense: MIT\nmetadata: {version: 2}`, '\r\nDo it'))).status,
    201,
  );
  assert.is(p.log.events.length, events + 1);
});

test('an import takes a description as people write it, and otherwise says in which line and column it cannot', async () => {
  const described = (line: string) => manifest(`\ufeff---\r\nname: 1.10\r\n${line}\r\nfirst: &a [x]\r\nall: [*a, *a]\r\n---\r\nDo it`);
  const { status, body } = await described('description: Reviews #42. Use when: the user says "review"');
  const { name, slug, description } = body as Json;
  assert.equal([status, name, slug, description], [201, '1.10', '1-10', 'Reviews #42. Use when: the user says "review"']);
  const ofNotepad = await manifest(Buffer.from(`\ufeff---\r\nname: ${newName()}\r\ndescription: grün\r\n---\r\nDo it`, 'utf16le'));
  assert.equal([ofNotepad.status, (ofNotepad.body as Json).description], [201, 'grün']);
  const refused = await described('description: [a, b]');
  const [error] = (refused.body as { errors: Json[] }).errors;
  assert.equal(faultOf(refused), [422, 'invalid', '/upload bad_manifest']);
  assert.match(
    String(error!.message),
    /^SKILL\.md, line 3, column 14, has a description that is a list or an object: put the whole text in double quotes/,
  );
});

share.test('importing a hostile archive is refused, and leaves neither an event nor a stored content', async () => {
  const hostile = share.casesOf(
    hostileArchives(),
    ([fault]) => fault,
    ([, code]) => code,
  );
  const events = p.log.events.length;
  for (const [fault, code, archive] of hostile) {
    assert.equal(faultOf(await upload(archive)), [422, 'invalid', `/upload ${code}`], fault);
    assert.is(await storedBytes(hash('sha256', archive, 'hex')), null, fault);
  }
  assert.is(p.log.events.length, events);
});

test('importing a skill is refused while there is another skill of the same name', async () => {
  const name = newName();
  const first = (await upload(skillArchive(name))).body as Json;
  assert.equal((await upload(skillArchive(name, [{ name: 'a' }]))).status, 409);
  await p.send('DELETE', `${p.tenant}/skills/${first.id}`);
  assert.is((await upload(skillArchive(name))).status, 201);
});

test('repeating an import with the same Idempotency-Key and file gets the same response, even with another multipart boundary; with another file, it is refused', async () => {
  const [archive, headers] = [skillArchive(newName()), { 'idempotency-key': 'import' }];
  const first = await upload(archive, headers);
  const events = p.log.events.length;
  const body = formBody(file(archive)).toString('latin1').replaceAll(BOUNDARY, 'AnotherBoundary');
  const again = await sendBody(Buffer.from(body, 'latin1'), {
    ...headers,
    'content-type': 'multipart/form-data; boundary="AnotherBoundary"',
  });
  assert.equal([again.status, again.body, p.log.events.length], [201, first.body, events], again.text);
  assert.is((await upload(skillArchive(newName()), headers)).status, 422);
});

test('an import of 10 MiB is accepted; a larger one gets 413, and the response names the limit', async () => {
  const archiveOf = (bytes: number): Buffer => {
    const padding = (size: number): Buffer =>
      skillArchive(newName().padEnd(12, 'x'), [{ name: 'random', content: randomBytes(size), stored: true }]);
    return padding(bytes - padding(0).length);
  };
  const largest = archiveOf(MAX_BYTES);
  assert.is(largest.length, MAX_BYTES);
  assert.is((await upload(largest)).status, 201);
  for (const size of [MAX_BYTES + 1, MAX_BYTES + 100_000]) {
    const answer = await upload(archiveOf(size));
    assert.equal([answer.status, (answer.body as Json).limit], [413, MAX_BYTES]);
  }
});

test('importing a skill is refused if the body is not a multipart form with a single file named upload; each kind of mistake gets its own status', async () => {
  const archive = skillArchive(newName());
  const events = p.log.events.length;
  const cases: [string, unknown[], string | Uint8Array, Record<string, string>?][] = [
    ['a JSON body', [415, 'unsupported_media_type'], '{}', { 'content-type': 'application/json' }],
    ['the archive alone', [415, 'unsupported_media_type'], archive, { 'content-type': 'application/zip' }],
    ['a URL-encoded form', [415, 'unsupported_media_type'], 'upload=x', { 'content-type': 'application/x-www-form-urlencoded' }],
    [
      'another multipart type',
      [415, 'unsupported_media_type'],
      formBody(file(archive)),
      { 'content-type': `multipart/mixed; boundary=${BOUNDARY}` },
    ],
    ['no content type', [415, 'unsupported_media_type'], formBody(file(archive)), { 'content-type': '' }],
    ['a compressed body', [415, 'unsupported_media_type'], formBody(file(archive)), { 'content-encoding': 'gzip' }],
    ['no boundary', [400, 'malformed'], formBody(file(archive)), { 'content-type': 'multipart/form-data' }],
    ['another boundary', [400, 'malformed'], formBody(file(archive)), { 'content-type': 'multipart/form-data; boundary=other' }],
    ['an empty body', [400, 'malformed'], ''],
    ['a truncated body', [400, 'malformed'], formBody(file(archive)).subarray(0, -30)],
    ['a part without a name', [400, 'malformed'], formBody({ filename: 'a.zip', content: archive })],
    ['a part without headers', [400, 'malformed'], formBody({ headers: '', content: archive })],
    ['no part', [422, 'invalid', '/upload required'], `--${BOUNDARY}--\r\n`],
    ['another field', [422, 'invalid', '/file unknown_field'], formBody({ ...file(archive), name: 'file' })],
    ['a further field', [422, 'invalid', '/more unknown_field'], formBody(file(archive), { name: 'more', content: 'x' })],
    ['two files', [422, 'invalid', '/upload duplicate'], formBody(file(archive), file(archive))],
    ['a text', [422, 'invalid', '/upload no_file'], formBody({ name: 'upload', content: 'x' })],
    ['1,000 parts', [422, 'invalid', ' too_many_parts'], formBody(...Array.from({ length: 1_000 }, () => file('x')))],
  ];
  for (const [what, expected, body, headers] of cases) {
    const answer = await sendBody(body, headers);
    assert.equal(faultOf(answer).slice(0, expected.length), expected, `${what}: ${answer.text}`);
  }
  assert.is(
    (await p.send('POST', `${path}?upload=1`, { raw: formBody(file(archive)), headers: { 'content-type': FORM_TYPE } })).status,
    422,
  );
  assert.is(p.log.events.length, events);
});

test('only an OWNER or ADMIN can import skills; requests of other callers are refused before their body is read', async () => {
  const { key } = await addMember(p, 'MEMBER');
  assert.is((await sendBody('nothing', {}, key)).status, 403);
  assert.is((await sendBody('nothing', {}, '')).status, 401);
});

test('if a tenant sends more imports at once than can run at the same time, all of them succeed', async () => {
  const answers = await Promise.all(Array.from({ length: 12 }, () => upload(skillArchive(newName()))));
  assert.equal(new Set(answers.map(({ status }) => status)), new Set([201]));
});

afterLastTest(() => p.close());

test.run();
