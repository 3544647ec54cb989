import { Hono } from 'hono';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createCookies } from '../../api/identity/sign-in-cookies.ts';
import { mountConsole } from '../../infra/platform/console.ts';

type Load = NonNullable<Parameters<typeof mountConsole>[2]>;

const missingModule = Object.assign(new Error("Cannot find package 'hono'"), { code: 'ERR_MODULE_NOT_FOUND' });

const consoleWith = (load: Load): { app: Hono; logged: unknown[] } => {
  const app = new Hono();
  const logged: unknown[] = [];
  const answerFailure = (error: unknown): Response => {
    logged.push(error);
    return Response.json({ code: 'internal' }, { status: 500 });
  };
  mountConsole(app, { operations: {}, cookies: createCookies('http://127.0.0.1'), hasIssuer: false, answerFailure }, load);
  return { app, logged };
};

const loaded = (fetch: () => Response | Promise<Response>) =>
  ({ assets: { find: () => null }, fetch }) as unknown as Awaited<ReturnType<Load>>;

for (const path of ['/console', '/console/sign-in', '/console/t/demo/agents'])
  test(`if the console cannot be loaded, the response to ${path} is a page and not JSON`, async () => {
    const { app, logged } = consoleWith(() => Promise.reject(missingModule));
    const response = await app.request(path);
    assert.is(response.status, 500);
    assert.is(response.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(await response.text(), /This page cannot be shown.*restarts that process/s);
    assert.equal(logged, [missingModule]);
  });

test('an error while a page is rendered gives a page and not JSON', async () => {
  const { app } = consoleWith(() => Promise.resolve(loaded(() => Promise.reject(missingModule))));
  assert.match(await (await app.request('/console')).text(), /^<!doctype html>/);
});

test('the console is loaded again after a failed attempt', async () => {
  let attempts = 0;
  const { app } = consoleWith(() =>
    attempts++ === 0 ? Promise.reject(missingModule) : Promise.resolve(loaded(() => new Response('drawn'))),
  );
  assert.is((await app.request('/console')).status, 500);
  assert.is(await (await app.request('/console')).text(), 'drawn');
});

test.run();
