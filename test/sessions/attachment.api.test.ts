import { hash, randomBytes } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { polyglots } from '../fixtures/polyglots.ts';
import { createSessionPlatform, errorCode, type Json } from '../fixtures/session-platform.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { unknownBytes } from '../fixtures/unknown-bytes.ts';
import { addMember } from '../fixtures/users.ts';

const p = await createSessionPlatform();
const { agent } = p;
const MAX_BYTES = 25 * 1024 * 1024;
type Upload = { content: string | Uint8Array; filename?: string; key?: string; headers?: Record<string, string> };

const upload = (session: string, { content, filename = 'file.bin', key = agent.runner, headers = {} }: Upload): Promise<Answer> =>
  p.send('POST', `${session}/attachments`, {
    key,
    raw: formBody({ name: 'upload', filename, content }),
    headers: { 'content-type': FORM_TYPE, ...headers },
  });
const download = async (digest: unknown, key = p.key) => {
  const response = await p.app.request(`${p.tenant}/files/${digest}`, { headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
};

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>';

test('an attachment has the digest, size and type of its content, and is downloaded unchanged', async () => {
  const session = await p.startSession();
  const answer = await upload(session, { content: PNG, filename: 'picture.png' });
  const { id, created_at, url, ...rest } = answer.body as Json;
  const sha256 = hash('sha256', PNG, 'hex');
  assert.is(answer.status, 201, answer.text);
  assert.equal(rest, { filename: 'picture.png', content_type: 'image/png', size_bytes: PNG.length, sha256 });
  assert.match(String(id), /^c[a-z0-9]{24}$/);
  assert.is(url, `http://annals.test${p.tenant}/files/${sha256}`);
  assert.is(answer.headers.get('location'), `${p.tenant}/files/${sha256}`);
  const file = await download(sha256);
  assert.equal([file.status, file.bytes], [200, PNG]);
  assert.equal(
    ['content-type', 'content-length', 'content-disposition', 'x-content-type-options'].map((name) => file.headers.get(name)),
    ['image/png', String(PNG.length), `attachment; filename="picture.png"; filename*=UTF-8''picture.png`, 'nosniff'],
  );
  assert.match(file.headers.get('content-security-policy')!, /sandbox/);
  assert.equal((await p.read(session)).attachments, [answer.body]);
  assert.ok(created_at);
});

test('the type of an attachment is derived from its content, not from its name; content that browsers would execute gets a plain or opaque type', async () => {
  const session = await p.startSession();
  for (const [content, filename, type] of [
    ['<!doctype html><script>alert(1)</script>', 'page.html', 'text/plain'],
    ['<html><body onload=alert(1)>', 'picture.png', 'text/plain'],
    [SVG, 'icon.svg', 'text/plain'],
    [`<?xml version="1.0"?>${SVG}`, 'icon.svg', 'text/plain'],
    [`\ufeff<?xml version="1.0"?>${SVG}`, 'icon.xml', 'text/plain'],
    [`<!-- x -->${SVG}`, 'icon.gif', 'text/plain'],
    ['alert(1)', 'code.js', 'text/plain'],
    ['GIF89a/*<svg onload=alert(1)>*/=1;alert(1)', 'a.js', 'image/gif'],
    [`%PDF-1.7\n<script>alert(1)</script>`, 'a.html', 'application/pdf'],
    [Buffer.concat([PNG, Buffer.from(SVG)]), 'a.svg', 'image/png'],
    [Buffer.from([0xff, 0xfe, 0x3c, 0x00, 0x73, 0x00]), 'utf16.svg', 'application/octet-stream'],
    [Buffer.from('a\0b'), 'a.txt', 'application/octet-stream'],
    ['', 'empty.txt', 'text/plain'],
    ['Grüße', 'a.exe', 'text/plain'],
  ] as const) {
    const answer = await upload(session, { content, filename });
    assert.equal([answer.status, (answer.body as Json).content_type], [201, type], `${filename}: ${answer.text}`);
    const { status, headers, bytes } = await download((answer.body as Json).sha256);
    assert.equal([status, headers.get('x-content-type-options'), bytes], [200, 'nosniff', Buffer.from(content)]);
    assert.match(headers.get('content-disposition')!, /^attachment;/);
    assert.is(headers.get('content-type')!.split(';')[0], type);
  }
});

test('an attachment that is valid as several file types is downloaded unchanged and in a sandbox, never as a page, script or SVG', async () => {
  const session = await p.startSession();
  const all = await polyglots();
  assert.ok(all.length >= 30, `${all.length}`);
  for (const [label, content] of all) {
    const answer = await upload(session, { content, filename: '../../picture.svg' });
    assert.is(answer.status, 201, `${label}: ${answer.text}`);
    const { headers, bytes } = await download((answer.body as Json).sha256);
    assert.ok(bytes.equals(content), label);
    assert.match(headers.get('content-disposition')!, /^attachment;/, label);
    assert.is(headers.get('x-content-type-options'), 'nosniff', label);
    assert.match(headers.get('content-security-policy')!, /sandbox/, label);
    assert.not.match(headers.get('content-type')!, /html|javascript|ecmascript|svg|xml/, label);
  }
});

test("an attachment's name is stored without folders and unprintable characters, and is never used as a path", async () => {
  const session = await p.startSession();
  for (const [filename, shown] of [
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\ada\\plan.txt', 'plan.txt'],
    ['a\u202egnp.exe', 'a gnp.exe'],
    ['..', '..'],
    ['/', 'file'],
    ['résumé "final".pdf', 'résumé "final".pdf'],
    ['x'.repeat(300), 'x'.repeat(255)],
  ] as const) {
    const raw = formBody({
      headers: `Content-Disposition: form-data; name="upload"; filename="${filename.replaceAll('"', '%22')}"`,
      content: `content of ${shown}`,
    });
    const answer = await p.send('POST', `${session}/attachments`, { key: agent.runner, raw, headers: { 'content-type': FORM_TYPE } });
    assert.is((answer.body as Json).filename, shown, answer.text);
    const { status, headers } = await download((answer.body as Json).sha256);
    assert.is(status, 200);
    assert.not.match(headers.get('content-disposition')!, /[\r\n\\/]/);
  }
});

test('an upload of an attachment of 25 MiB is accepted; with one more byte it gets 413, and the response names the limit', async () => {
  const session = await p.startSession();
  const most = unknownBytes(MAX_BYTES);
  const accepted = await upload(session, { content: most });
  assert.equal([accepted.status, (accepted.body as Json).size_bytes], [201, MAX_BYTES]);
  assert.ok((await download((accepted.body as Json).sha256)).bytes.equals(most));
  const refused = await upload(session, { content: Buffer.alloc(MAX_BYTES + 1) });
  assert.equal([refused.status, (refused.body as Json).limit], [413, MAX_BYTES]);
});

test('a request for a range of an attachment gets 206, and for a range after its end 416; with an outdated If-Range it gets the whole file', async () => {
  const session = await p.startSession();
  const content = unknownBytes(200_000);
  const { sha256 } = (await upload(session, { content })).body as Json;
  const get = async (headers: Record<string, string>, method = 'GET') => {
    const response = await p.app.request(`${p.tenant}/files/${sha256}`, {
      method,
      headers: { authorization: `Bearer ${p.key}`, ...headers },
    });
    return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
  };
  const part = await get({ range: 'bytes=70000-139999' });
  assert.equal([part.status, part.headers.get('content-range')], [206, 'bytes 70000-139999/200000']);
  assert.is(part.headers.get('content-length'), '70000');
  assert.ok(part.bytes.equals(content.subarray(70_000, 140_000)));
  assert.ok((await get({ range: 'bytes=-5' })).bytes.equals(content.subarray(-5)));
  const behind = await get({ range: 'bytes=200000-' });
  assert.equal([behind.status, behind.headers.get('content-range')], [416, 'bytes */200000']);
  assert.is((await get({ range: 'bytes=0-1', 'if-range': '"other"' })).status, 200);
  assert.is((await get({ range: 'bytes=0-1', 'if-range': `"${sha256}"` })).status, 206);
  assert.equal([(await get({ range: 'bytes=0-1' }, 'HEAD')).status, (await get({})).headers.get('accept-ranges')], [206, 'bytes']);
});

test('an upload of an attachment is refused, and nothing is stored, if the body is not a multipart form with a single file named upload', async () => {
  const session = await p.startSession();
  const count = p.eventsOf('SessionAttachmentAdded').length;
  const send = (raw: Buffer | string, type = FORM_TYPE) =>
    p.send('POST', `${session}/attachments`, { key: agent.runner, raw, headers: { 'content-type': type } });
  assert.is((await send('{}', 'application/json')).status, 415);
  assert.is((await send('not a form')).status, 400);
  assert.is((await send(formBody({ name: 'file', filename: 'a', content: 'x' }))).status, 422);
  assert.is((await send(formBody({ name: 'upload', content: 'x' }))).status, 422);
  assert.is(p.eventsOf('SessionAttachmentAdded').length, count);
});

test('adding an attachment to a session that has ended is refused; repeating a request from before its end with the same Idempotency-Key gets the first response', async () => {
  const session = await p.startSession();
  const headers = { 'idempotency-key': 'upload-1' };
  const first = await upload(session, { content: 'once', headers });
  const again = await upload(session, { content: 'once', headers });
  assert.equal([again.status, again.body], [201, first.body]);
  assert.is((await upload(session, { content: 'other', headers })).status, 422);
  assert.is((await upload(session, { content: 'once', filename: 'other.bin', headers })).status, 422);
  await p.end(session, 'complete');
  const refused = await upload(session, { content: 'late' });
  assert.equal([refused.status, errorCode(refused)], [409, 'session_ended']);
  assert.equal((await upload(session, { content: 'once', headers })).body, first.body);
  assert.is((await p.read(session)).session !== null && ((await p.read(session)).attachments as Json[]).length, 1);
});

test('a file that claims to be of another type than its content is refused with 422 and not stored; a rare or missing type is accepted', async () => {
  const session = await p.startSession();
  const claim = (type: string, content: string | Uint8Array) => {
    const headers = `Content-Disposition: form-data; name="upload"; filename="a"\r\nContent-Type: ${type}`;
    return p.send('POST', `${session}/attachments`, {
      key: agent.runner,
      raw: formBody({ name: 'upload', content, headers }),
      headers: { 'content-type': FORM_TYPE },
    });
  };
  const program = Buffer.concat([Buffer.from('MZ'), Buffer.alloc(200), randomBytes(8)]);
  for (const [type, content] of [
    ['image/png', program],
    ['application/pdf', PNG],
    ['IMAGE/JPEG; charset=x', 'a text'],
    ['image/x-rare', program],
  ] as const) {
    const refused = await claim(type, content);
    assert.equal([refused.status, (refused.body as { errors: Json[] }).errors[0]!.code, type], [422, 'type_mismatch', type]);
  }
  assert.is(await p.blobs.of(p.tenant.split('/').at(-1)!).exists(hash('sha256', program, 'hex')), false);
  for (const [type, content] of [
    ['image/png', PNG],
    ['image/jpg', PNG],
    ['image/svg+xml', SVG],
    ['image/x-rare', unknownBytes(100)],
    ['application/octet-stream', program],
    ['text/csv', PNG],
    ['audio/ogg', Buffer.concat([Buffer.from('OggS\0'), Buffer.alloc(200)])],
    ['audio/webm', Buffer.concat([Buffer.from('1a45dfa39f4286810142f7810142f2810442f381084282847765626d', 'hex'), Buffer.alloc(64)])],
  ] as const)
    assert.equal([(await claim(type, content)).status, type], [201, type]);
});

test('an attachment can be read only by callers who may read the sessions of an agent that has the attachment', async () => {
  const other = await p.createAgent();
  const member = await addMember(p, 'MEMBER');
  const auditor = await addMember(p, 'AUDITOR');
  const session = await p.startSession();
  const sha256 = (await upload(session, { content: 'for two agents' })).body as Json;
  const statusFor = async (key: string) => (await download(sha256.sha256, key)).status;
  assert.equal([await statusFor(member.key), await statusFor(auditor.key)], [404, 403]);
  assert.equal([await statusFor(agent.runner), await statusFor(other.runner)], [200, 404]);
  await p.send('PUT', `${other.path}/roles/${member.user_id}`, { body: { role: 'VIEWER' } });
  assert.is(await statusFor(member.key), 404, 'a role on another agent does not suffice');
  const ofOther = String(((await p.send('POST', `${other.path}/sessions`, { key: other.runner, body: {} })).body as Json).id);
  await upload(`${p.tenant}/sessions/${ofOther}`, { content: 'for two agents', key: other.runner });
  assert.is(await statusFor(member.key), 200, 'the other agent has the same file');
  for (const unknown of ['0'.repeat(64), 'x', '..']) assert.is((await download(unknown)).status, 404);
});

test('only the runner and members who may assign work to the agent add attachments to a session of a person', async () => {
  const member = await addMember(p, 'MEMBER', p.tenant_id, 'starter@example.com');
  const second = await addMember(p, 'MEMBER', p.tenant_id, 'second@example.com');
  for (const { user_id } of [member, second]) await p.send('PUT', `${agent.path}/roles/${user_id}`, { body: { role: 'MANAGER' } });
  const session = await p.startSession({}, member.key);
  assert.is((await upload(session, { content: 'x', key: member.key })).status, 201);
  assert.is((await upload(session, { content: 'x', key: second.key })).status, 201);
  assert.is((await upload(await p.startSession(), { content: 'x', key: member.key })).status, 403, 'a session of the runner');
  assert.is((await upload(session, { content: 'x', key: (await p.createAgent()).runner })).status, 404);
  assert.is((await upload(session, { content: 'x', key: '' })).status, 401);
  await p.send('PUT', `${agent.path}/roles/${member.user_id}`, { body: { role: 'VIEWER' } });
  assert.is((await upload(session, { content: 'x', key: member.key })).status, 403, 'who may no longer assign work');
});

afterLastTest(() => p.close());

test.run();
