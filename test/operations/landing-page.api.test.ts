import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createApp } from '../../api/http/app.ts';
import type { Runtime } from '../../api/http/runtime.ts';
import { type SystemDeps, systemRoutes } from '../../api/operations/system-routes.ts';
import { Refusal } from '../../domain/refusal.ts';

/** The Accept headers that Firefox and Chrome send when the user opens a URL. */
const BROWSERS = [
  'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
];

// The landing page needs no operations and no runtime, so both are left empty.
const app = createApp({
  operations: {},
  runtime: {} as Runtime,
  mountPlain: (hono) => systemRoutes.mount(hono, {} as SystemDeps),
  requestId: () => 'request',
  toRefusal: () => new Refusal('internal', 'failed'),
});
const open = (accept?: string, path = '/') => app.request(path, { headers: accept === undefined ? {} : { accept } });

test('a browser that opens the URL of the service gets a page that describes the next steps', async () => {
  for (const accept of BROWSERS) {
    const page = await open(accept);
    assert.is(page.status, 200);
    assert.match(page.headers.get('content-type')!, 'text/html');
    assert.match(page.headers.get('content-security-policy')!, "default-src 'none'");
    const html = await page.text();
    const links = [...html.matchAll(/href="([^"]+)"/g)].map(([, path]) => path!);
    for (const link of ['/docs', '/console', '/guides', '/guides/tour']) assert.ok(links.includes(link), links.join(' '));
    assert.match(html, 'annals login');
    for (const path of links.filter((link) => !/^\/(console|guides)/.test(link)))
      assert.is(app.router.match('GET', path)[0].length > 2, true, path);
  }
});

test('for an unknown path, a client that is not a browser gets the problem document instead of a page', async () => {
  for (const accept of [undefined, '*/*', 'application/json', 'application/json, text/html;q=0.5']) {
    const answer = await open(accept);
    assert.is(answer.status, 404, accept);
    assert.is(answer.headers.get('content-type'), 'application/problem+json', accept);
    assert.is(((await answer.json()) as { code: string }).code, 'not_found');
  }
  assert.is((await open(BROWSERS[0], '/nowhere')).status, 404);
});

test('a browser that opens an unknown path, or one that needs a key, gets a page that leads to the console', async () => {
  const hono = createApp({
    operations: {},
    runtime: {} as Runtime,
    mountPlain: (plain) =>
      void plain.get('/closed', () => {
        throw new Refusal('unauthorized', 'Send Authorization: Bearer <API key>');
      }),
    requestId: () => 'request',
    toRefusal: () => new Refusal('internal', 'failed'),
  });
  for (const [path, status] of [
    ['/no-such-page', 404],
    ['/closed', 401],
  ] as const) {
    const page = await hono.request(path, { headers: { accept: BROWSERS[0]! } });
    assert.equal([page.status, page.headers.get('content-type'), page.headers.get('vary')], [status, 'text/html; charset=utf-8', 'Accept']);
    const html = await page.text();
    assert.match(html, /href="\/console"/);
    assert.not.match(html, '<API key>');
    const problem = await hono.request(path, { headers: { accept: '*/*' } });
    assert.equal([problem.status, problem.headers.get('content-type')], [status, 'application/problem+json']);
  }
});

test.run();
