import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../infra/config.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

const APP = 'https://app.example';
const ALLOW_ORIGIN = 'access-control-allow-origin';

/** Starts the platform with this value of the variable CORS_ORIGINS. */
const withOrigins = (text: string | undefined) => createTestPlatform({ corsOrigins: loadConfig({ CORS_ORIGINS: text }).corsOrigins });

const preflight = (p: Awaited<ReturnType<typeof withOrigins>>, origin: string) =>
  p.send('OPTIONS', `${p.tenant}/agents`, {
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization, if-match' },
  });

test('pages of an allowed origin may call the API and read its response headers; pages of other origins may not', async () => {
  const p = await withOrigins(`${APP},http://localhost:5173`);
  const allowed = await preflight(p, APP);
  assert.equal([allowed.status, allowed.headers.get(ALLOW_ORIGIN)], [204, APP]);
  assert.is(allowed.headers.get('access-control-allow-methods'), 'GET,HEAD,POST,PUT,PATCH,DELETE');
  assert.is(allowed.headers.get('access-control-allow-headers'), 'authorization,if-match');
  for (const status of [200, 401]) {
    const { headers, ...answer } = await p.send('GET', '/me', { headers: { origin: APP }, ...(status === 401 ? { key: 'none' } : {}) });
    assert.equal([answer.status, headers.get(ALLOW_ORIGIN), headers.get('vary')], [status, APP, 'Origin']);
    assert.match(headers.get('access-control-expose-headers')!, 'Consistency-Token');
  }
  for (const other of ['https://app.example.evil.example', 'http://app.example', 'null']) {
    assert.is((await preflight(p, other)).headers.get(ALLOW_ORIGIN), null, other);
    assert.is((await p.send('GET', '/me', { headers: { origin: other } })).headers.get(ALLOW_ORIGIN), null, other);
  }
  await p.close();
});

test('CORS_ORIGINS=* allows pages of any origin, but never with cookies', async () => {
  const p = await withOrigins('*');
  for (const origin of [APP, 'null']) {
    const allowed = await preflight(p, origin);
    assert.equal([allowed.headers.get(ALLOW_ORIGIN), allowed.headers.get('access-control-allow-credentials')], ['*', null]);
    assert.is((await p.send('GET', '/me', { headers: { origin } })).headers.get(ALLOW_ORIGIN), '*');
  }
  await p.close();
});

test('an OPTIONS request gets the list of methods of its path, with and without CORS_ORIGINS', async () => {
  for (const origins of [undefined, APP, '*']) {
    const p = await withOrigins(origins);
    const known = await p.send('OPTIONS', `${p.tenant}/agents`, { headers: { origin: APP } });
    assert.equal([known.status, known.headers.get('allow')], [204, 'GET, HEAD, POST, OPTIONS'], origins);
    assert.is((await p.send('OPTIONS', '/nowhere')).status, 404, origins);
    await p.close();
  }
});

test.run();
