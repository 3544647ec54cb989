import { request } from 'node:http';
import { Hono } from 'hono';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createHostCheck } from '../../infra/http/allowed-host.ts';
import { listen } from '../../infra/http/listen.ts';

type Settings = Parameters<typeof createHostCheck>[0];

const LOCAL: Settings = { host: '127.0.0.1', publicUrl: 'http://127.0.0.1:4100' };

const isServed = (settings: Settings, host: string | undefined): boolean => createHostCheck(settings)(host) === null;

test('a service on a loopback address serves requests for a loopback name, on any port, and for the host of PUBLIC_URL', () => {
  const tunnel = { host: 'localhost', publicUrl: 'https://Hooks.Example.com' };
  for (const host of ['127.0.0.1:4100', 'localhost', 'LOCALHOST:1', '[::1]:4100', '127.8.9.1', 'annals.localhost', undefined])
    assert.ok(isServed(LOCAL, host), `${host}`);
  for (const host of ['hooks.example.com', 'HOOKS.example.com:443', '127.0.0.1:4100']) assert.ok(isServed(tunnel, host), host);
});

test('a service on a loopback address refuses every other name', () => {
  const names = [
    'evil.example',
    'evil.example:4100',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '10.0.0.7',
    '[::2]',
    'notlocalhost',
  ];
  for (const host of ['127.0.0.1', '127.0.0.2', 'localhost', '::1'])
    for (const name of names) assert.not.ok(isServed({ ...LOCAL, host }, name), `${name} on ${host}`);
});

test('a service on another address serves requests for every name', () => {
  for (const host of ['0.0.0.0', '::', '10.0.0.7', 'annals.internal']) assert.ok(isServed({ ...LOCAL, host }, 'anything.example'), host);
});

test('a request with the name of another site gets 421 on every path, before any route sees it', async () => {
  const seen: string[] = [];
  const app = new Hono().all('*', (c) => {
    seen.push(c.req.path);
    return c.text('served');
  });
  const server = await listen(app, { host: '127.0.0.1', port: 0 }, undefined, createHostCheck(LOCAL));
  const send = (path: string, host: string): Promise<{ status: number; type: string; text: string }> =>
    new Promise((resolve, reject) => {
      const sent = request({ port: server.port, path, headers: { host }, agent: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => (text += part));
        answer.on('end', () => resolve({ status: answer.statusCode!, type: answer.headers['content-type'] ?? '', text }));
      });
      sent.on('error', reject).end();
    });
  try {
    for (const path of ['/console', '/me', '/livez', '/hooks/inbound/x']) {
      const { status, type, text } = await send(path, 'evil.example:4100');
      assert.equal([status, type], [421, 'application/problem+json']);
      assert.match(text, /"code":"misdirected"/);
      assert.match(text, /This service is not evil\.example: use its PUBLIC_URL/);
    }
    assert.equal(seen, []);
    assert.is((await send('/livez', `localhost:${server.port}`)).status, 200);
    assert.equal(seen, ['/livez']);
  } finally {
    await server.close();
  }
});

test.run();
