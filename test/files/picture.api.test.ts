import { hash } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { FORM_TYPE, type FormPart, formBody } from '../fixtures/form-body.ts';
import { iconOf, pictureOf, polyglots } from '../fixtures/polyglots.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

const p = await createTestPlatform();
type Json = Record<string, unknown>;
const PATHS = [
  [`${p.tenant}/brand/favicon`, '/brand/demo/favicon', 'BrandFaviconChanged'],
  [`${p.tenant}/brand/logo`, '/brand/demo/logo', 'BrandLogoChanged'],
  ['/admin/platform/favicon', '/platform/favicon', 'PlatformFaviconChanged'],
  ['/admin/use-cases/coding/icon', '/use-cases/coding/icon', 'UseCaseIconChanged'],
] as const;
const [[favicon, publicFavicon], [logo]] = PATHS;

const put = (path: string, parts: readonly FormPart[], headers = {}) =>
  p.send('PUT', path, { raw: formBody(...parts), headers: { 'content-type': FORM_TYPE, ...headers } });
const upload = (path: string, content: Uint8Array, filename = 'a.png', type?: string) =>
  put(path, [
    {
      name: 'upload',
      filename,
      content,
      ...(type && { headers: `Content-Disposition: form-data; name="upload"; filename="${filename}"\r\nContent-Type: ${type}` }),
    },
  ]);
const read = async (path: string, headers: Record<string, string> = {}) => {
  const response = await p.app.request(path, { headers });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
};
const codeOf = ({ body }: { body: unknown }) =>
  (body as { errors?: { code: string }[]; code: string }).errors?.[0]?.code ?? (body as { code: string }).code;

for (const [path, publicPath, event] of PATHS)
  test(`PUT ${event.replace('Changed', '')}: the response describes the picture as UploadRead, ${event} is appended, and everybody can read the picture`, async () => {
    assert.is((await read(publicPath)).status, 404, 'there is none before');
    const { status, body, text } = await upload(path, await pictureOf('png', 20, 10), '../../logo.png');
    assert.is(status, 200, text);
    const { id, created_at, sha256, size_bytes, ...rest } = body as Json;
    assert.equal(rest, { filename: 'logo.png', content_type: 'image/png', url: `http://annals.test${publicPath}`, width: 20, height: 10 });
    assert.match(String(id), /^c[a-z0-9]{24}$/);
    assert.ok(created_at);
    assert.is(p.eventsOf(event).length, 1);
    const shown = await read(publicPath);
    assert.equal([shown.status, hash('sha256', shown.bytes, 'hex'), shown.bytes.length], [200, sha256, size_bytes]);
    assert.equal(
      ['content-type', 'etag', 'cache-control', 'x-content-type-options'].map((name) => shown.headers.get(name)),
      ['image/png', `"${sha256}"`, 'public, max-age=300', 'nosniff'],
    );
    assert.is((await read(publicPath, { 'if-none-match': `"${sha256}"` })).status, 304);
  });

test('uploading the same picture again gets 200 with the first id, and appends no event', async () => {
  const picture = await pictureOf('png', 33, 33);
  const first = await upload(logo, picture);
  const count = p.log.events.length;
  const second = await upload(logo, picture);
  assert.equal([second.status, second.body], [200, first.body]);
  assert.is(p.log.events.length, count);
});

test('an uploaded PNG, JPEG or WebP picture keeps its type; GIF and ICO are converted to PNG', async () => {
  const png = await pictureOf('png');
  for (const [content, filename, type, width] of [
    [png, 'a.png', 'image/png', 16],
    [await pictureOf('jpeg'), 'a.jpg', 'image/jpeg', 16],
    [await pictureOf('webp'), 'a.webp', 'image/webp', 16],
    [await pictureOf('gif'), 'a.gif', 'image/png', 16],
    [iconOf(png), 'favicon.ico', 'image/png', 16],
    [iconOf(), 'favicon.ico', 'image/png', 2],
  ] as const) {
    const { status, body, text } = await upload(favicon, content, filename);
    assert.equal([status, (body as Json).content_type, (body as Json).width], [200, type, width], `${filename}: ${text}`);
    assert.is((await read(publicFavicon)).headers.get('content-type'), type);
  }
});

test('uploading a picture that is also a file of another kind gets 415 or 422, or only the pixels of the picture are stored', async () => {
  const all = await polyglots();
  assert.ok(all.length >= 30);
  for (const [label, content] of all) {
    const { status, text } = await upload(logo, content, 'logo.svg');
    assert.ok([200, 415, 422].includes(status), `${label}: ${status} ${text}`);
    if (status !== 200) continue;
    const { bytes, headers } = await read('/brand/demo/logo');
    assert.not.match(bytes.toString('latin1'), /<script|<\?php|<svg|onload|a\.js/, label);
    assert.match(headers.get('content-type')!, /^image\/(png|jpeg|webp)$/, label);
  }
});

test('uploading an SVG gets 415; a picture is accepted whatever name and Content-Type its multipart part has', async () => {
  assert.is((await upload(logo, Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'a.svg', 'image/svg+xml')).status, 415);
  const claims = [
    ...['image/png', 'IMAGE/PNG; x=1', 'image/x-png', 'image/jpeg', 'image/jpg', 'image/pjpeg', 'image/x-icon', 'image/ico'],
    ...['image/vnd.microsoft.icon', 'image/apng', 'application/octet-stream', 'binary/octet-stream', 'text/plain', 'image/svg+xml', 'x'],
  ];
  for (const type of claims) {
    const { status, body, text } = await upload(favicon, await pictureOf('png'), 'favicon.ico', type);
    assert.equal([status, (body as Json).content_type], [200, 'image/png'], `${type}: ${text}`);
  }
  assert.is(
    (await put(logo, [{ content: await pictureOf('png'), headers: 'Content-Disposition: form-data; name="upload"; filename="a"' }])).status,
    200,
  );
});

test('uploading a picture of 1 MiB is not refused because of the size; with one more byte it gets 413, and the response names the limit', async () => {
  const picture = await pictureOf('png');
  const padded = (size: number) => Buffer.concat([picture, Buffer.alloc(size - picture.length)]);
  assert.is((await upload(logo, padded(1_048_576))).status, 200);
  const { status, body } = await upload(logo, padded(1_048_577));
  assert.equal([status, (body as Json).limit], [413, 1_048_576]);
});

test('uploading a picture gets 415, 400 or 422 if the body is not a multipart form with a single file named upload', async () => {
  const content = await pictureOf('png');
  assert.is((await p.send('PUT', logo, { body: {} })).status, 415);
  assert.is((await p.send('PUT', logo, { raw: 'x', headers: { 'content-type': FORM_TYPE } })).status, 400);
  assert.equal(codeOf(await put(logo, [])), 'required');
  assert.equal(
    codeOf(
      await put(logo, [
        { name: 'upload', filename: 'a', content },
        { headers: 'X-Nothing: 1', content: 'x' },
      ]),
    ),
    'malformed',
  );
  assert.equal(codeOf(await put(logo, [{ name: 'file', filename: 'a', content }])), 'unknown_field');
  assert.equal(codeOf(await put(logo, [{ name: 'upload', content: 'x' }])), 'no_file');
  assert.equal(codeOf(await put(logo, [{ headers: 'Content-Disposition: form-data', content: 'x' }])), 'malformed');
  assert.equal(codeOf(await put(logo, [{ headers: 'Content-Disposition: form-data; filename=a', content }])), 'malformed');
  const file = { name: 'upload', filename: 'a', content };
  assert.equal(codeOf(await put(logo, [file, file])), 'duplicate');
  assert.equal(codeOf(await put(logo, [file, { name: 'more', content: 'x' }])), 'unknown_field');
});

test('uploading a picture with an outdated ETag in If-Match gets 412, and with the current ETag it succeeds', async () => {
  const { headers } = await upload(logo, await pictureOf('png', 50, 50));
  const etag = headers.get('etag')!;
  const next = [{ name: 'upload', filename: 'b.png', content: await pictureOf('png', 51, 51) }];
  assert.is((await put(logo, next, { 'if-match': '"0"' })).status, 412);
  assert.is((await put(logo, next, { 'if-match': etag })).status, 200);
});

test("a MEMBER gets 403 for a change of the tenant's brand, and only super-admins can change the pictures of the platform", async () => {
  const { key } = await addMember(p, 'MEMBER');
  const raw = formBody({ name: 'upload', filename: 'a.png', content: await pictureOf('png') });
  for (const [path] of PATHS)
    assert.is((await p.send('PUT', path, { key, raw, headers: { 'content-type': FORM_TYPE } })).status, 403, path);
});

test('a request for a picture with an unknown or invalid part of the path gets 404, and so does an upload', async () => {
  for (const path of [
    '/brand/nobody/favicon',
    '/brand/DEMO/favicon',
    '/brand/demo/other',
    '/use-cases/unknown/icon',
    '/use-cases/A%00/icon',
  ])
    assert.is((await read(path)).status, 404, path);
  assert.is((await upload('/admin/use-cases/-x/icon', await pictureOf('png'))).status, 404);
});

test('pictures of two tenants are stored separately; a member can download a picture of their own tenant by its digest, but not one of another tenant', async () => {
  const { key, tenant } = await createSecondTenant(p, 'other');
  const raw = formBody({ name: 'upload', filename: 'mine.png', content: await pictureOf('png', 77, 7) });
  const { body } = await p.send('PUT', `${tenant}/brand/logo`, { key, raw, headers: { 'content-type': FORM_TYPE } });
  const { sha256 } = body as { sha256: string };
  assert.is(hash('sha256', (await read('/brand/other/logo')).bytes, 'hex'), sha256);
  assert.is.not(hash('sha256', (await read('/brand/demo/logo')).bytes, 'hex'), sha256);
  const file = await p.send('GET', `${tenant}/files/${sha256}`, { key });
  assert.equal([file.status, file.headers.get('content-disposition')], [200, `attachment; filename="mine.png"; filename*=UTF-8''mine.png`]);
  assert.is((await p.send('GET', `${p.tenant}/files/${sha256}`)).status, 404);
});

afterLastTest(() => p.close());

test.run();
