import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, inflateSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

const p = await createTestPlatform();
const server = await listen(p.app, { host: '127.0.0.1', port: 0 });

/**
 * Sends a request to a real HTTP server, because the tests check the headers and the encoded bytes that a client
 * receives.
 */
const ask = async (path: string, accepts?: string, headers: Record<string, string> = {}, method = 'GET') => {
  const answer = await new Promise<IncomingMessage>((resolve, reject) =>
    request(
      {
        port: server.port,
        path,
        method,
        headers: { authorization: `Bearer ${p.key}`, ...(accepts === undefined ? {} : { 'accept-encoding': accepts }), ...headers },
      },
      resolve,
    )
      .on('error', reject)
      .end(),
  );
  return { answer, bytes: await buffer(answer) };
};

test('a long response is compressed for clients that accept compression, and decompresses to the same content', async () => {
  for (let n = 0; n < 5; n++) await p.send('POST', `${p.tenant}/agents`, { body: { name: `Agent ${n}`, slug: `a${n}` } });
  const list = `${p.tenant}/agents`;
  const plain = await ask(list);
  assert.is(plain.answer.headers['content-encoding'], undefined);
  assert.is(plain.answer.headers['content-length'], String(plain.bytes.length));
  const gzip = await ask(list, 'gzip, deflate, br');
  assert.equal([gzip.answer.headers['content-encoding'], gzip.answer.headers.vary], ['gzip', 'Accept-Encoding']);
  assert.ok(gzip.bytes.length < plain.bytes.length / 2);
  assert.ok(gunzipSync(gzip.bytes).equals(plain.bytes));
  const deflate = await ask(list, 'deflate');
  assert.ok(inflateSync(deflate.bytes).equals(plain.bytes));
  for (const accepts of ['identity', 'gzip;q=0', 'br']) assert.ok((await ask(list, accepts)).bytes.equals(plain.bytes), accepts);
});

test('a short response is not compressed; a compressed response keeps its strong ETag, so that If-Match accepts it', async () => {
  const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Long', slug: 'long', description: 'long '.repeat(500) } });
  const path = created.headers.get('location')!;
  assert.is((await ask('/livez', 'gzip')).answer.headers['content-encoding'], undefined);
  const { answer } = await ask(path, 'gzip');
  assert.equal([answer.headers['content-encoding'], answer.headers.etag], ['gzip', '"0"']);
  assert.is((await ask(path, 'gzip', { 'if-none-match': answer.headers.etag! })).answer.statusCode, 304);
  const changed = await p.send('PATCH', path, { body: { name: 'Longer' }, headers: { 'if-match': answer.headers.etag! } });
  assert.is(changed.status, 200);
});

test('a HEAD response has the Content-Length of the GET response, or none if the GET response would be compressed', async () => {
  const list = `${p.tenant}/agents`;
  const plain = await ask(list);
  assert.is((await ask(list, undefined, {}, 'HEAD')).answer.headers['content-length'], String(plain.bytes.length));
  const { answer, bytes } = await ask(list, 'gzip', {}, 'HEAD');
  assert.equal([answer.statusCode, answer.headers['content-length'], bytes.length], [200, undefined, 0]);
  assert.is((await ask('/livez', 'gzip', {}, 'HEAD')).answer.headers['content-length'], '17');
});

afterLastTest(async () => {
  await server.close();
  await p.close();
});

test.run();
