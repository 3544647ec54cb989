import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';

/**
 * This program is a server that does only what every service must do for a webhook delivery: it reads the request,
 * verifies the signature and responds. It stores nothing. The parent process sends it `secrets`, a map from the ids of
 * integrations to their secrets.
 */
const secrets = new Map<string, string>();

const isSignatureValid = (secret: string, body: Buffer, signature: string): boolean => {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const actual = Buffer.from(signature);
  return actual.length === expected.length && timingSafeEqual(actual, expected);
};

const app = new Hono();
app.post('/hooks/inbound/:id', async (c) => {
  const body = Buffer.from(await c.req.arrayBuffer());
  const secret = secrets.get(c.req.param('id'));
  const isValid = secret !== undefined && isSignatureValid(secret, body, c.req.header('x-hub-signature-256') ?? '');
  return isValid ? c.json({ id: c.req.param('id'), outcome: 'accepted' }, 202) : c.json({ status: 401 }, 401);
});

process.once('message', (integrations: { id: string; secret: string }[]) => {
  for (const { id, secret } of integrations) secrets.set(id, secret);
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
});
process.once('disconnect', () => process.exit());
