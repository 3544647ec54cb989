import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../infra/config.ts';
import { createInMemoryPlatform } from '../fixtures/in-memory-platform.ts';

const APP = 'https://app.example';
const LISTED = 'access-control-allow-origin';

/** The platform for pages of these origins, as the environment names them. */
const withOrigins = (text: string | undefined) => createInMemoryPlatform({ corsOrigins: loadConfig({ CORS_ORIGINS: text }).corsOrigins });

const preflight = (p: Awaited<ReturnType<typeof withOrigins>>, origin: string) =>
  p.send('OPTIONS', `${p.tenant}/agents`, {
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization, if-match' },
  });

test('pages of a listed origin may call and read what they need; others may not', async () => {
  const p = await withOrigins(`${APP},http://localhost:5173`);
  const asked = await preflight(p, APP);
  assert.equal([asked.status, asked.headers.get(LISTED)], [204, APP]);
  assert.is(asked.headers.get('access-control-allow-methods'), 'GET,HEAD,POST,PUT,PATCH,DELETE');
  assert.is(asked.headers.get('access-control-allow-headers'), 'authorization,if-match');
  for (const status of [200, 401]) {
    const { headers, ...answer } = await p.send('GET', '/me', { headers: { origin: APP }, ...(status === 401 ? { key: 'none' } : {}) });
    assert.equal([answer.status, headers.get(LISTED), headers.get('vary')], [status, APP, 'Origin']);
    assert.match(headers.get('access-control-expose-headers')!, 'Consistency-Token');
  }
  for (const other of ['https://app.example.evil.example', 'http://app.example', 'null']) {
    assert.is((await preflight(p, other)).headers.get(LISTED), null, other);
    assert.is((await p.send('GET', '/me', { headers: { origin: other } })).headers.get(LISTED), null, other);
  }
  await p.close();
});

test('* lets pages of any origin call, never with a cookie', async () => {
  const p = await withOrigins('*');
  for (const origin of [APP, 'null']) {
    const asked = await preflight(p, origin);
    assert.equal([asked.headers.get(LISTED), asked.headers.get('access-control-allow-credentials')], ['*', null]);
    assert.is((await p.send('GET', '/me', { headers: { origin } })).headers.get(LISTED), '*');
  }
  await p.close();
});

test('OPTIONS says what there is, with origins listed and without', async () => {
  for (const origins of [undefined, APP, '*']) {
    const p = await withOrigins(origins);
    const there = await p.send('OPTIONS', `${p.tenant}/agents`, { headers: { origin: APP } });
    assert.equal([there.status, there.headers.get('allow')], [204, 'GET, HEAD, POST, OPTIONS'], origins);
    assert.is((await p.send('OPTIONS', '/nowhere')).status, 404, origins);
    await p.close();
  }
});

test.run();
