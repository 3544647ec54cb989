import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import { listen } from '../../infra/http/listen.ts';
import { createRateLimiter } from '../../infra/ratelimit/limiter.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { FORM_TYPE } from '../fixtures/form-body.ts';
import { sendSlowly, statusOf } from '../fixtures/slow-sender.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { SECRET } from '../fixtures/webhook-platform.ts';

const MEBIBYTE = 1024 * 1024;
const ID = 'cwbbr4qmw2wxfogo4mvn4a4wf';
const JSON_TYPE = 'Content-Type: application/json';
const p = await createTestPlatform();
const one = { ...RATE_LIMIT_POLICIES, badCredentials: { ...RATE_LIMIT_POLICIES.badCredentials, quota: 1 } };
const narrow = await createTestPlatform({ limits: createRateLimiter(one) });
await narrow.send('GET', '/me', { key: 'wrong' });
const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
const limited = await listen(narrow.app, { host: '127.0.0.1', port: 0 });
afterLastTest(() => Promise.all([server.close(), limited.close()]).then(() => {}));
const created = (body: unknown) => (body as { id: string }).id;
const agent_id = created((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'One', slug: 'one' } })).body);
const hook = { provider: 'github', agent_id, label: 'Hook', secret: SECRET };
const integration = created((await p.send('POST', `${p.tenant}/webhook-integrations`, { body: hook })).body);
const key = `Authorization: Bearer ${p.key}`;
const form = `Content-Type: ${FORM_TYPE}`;

type Case = {
  readonly status: number;
  readonly path: string;
  readonly headers: readonly string[];
  readonly mebibytes?: number;
  readonly isChunked?: boolean;
  readonly port?: number;
};

const CASES: readonly Case[] = [
  { status: 401, path: `${p.tenant}/agents`, headers: [JSON_TYPE] },
  { status: 404, path: '/no/such/path', headers: [JSON_TYPE, key] },
  { status: 429, path: `${narrow.tenant}/agents`, headers: [JSON_TYPE], port: limited.port },
  { status: 413, path: '/admin/tenants', headers: [JSON_TYPE, key] },
  { status: 405, path: `${p.tenant}`, headers: [JSON_TYPE, key] },
  { status: 404, path: `${narrow.tenant}/agents`, headers: [JSON_TYPE, key] },
  { status: 413, path: `${p.tenant}/agents`, headers: [JSON_TYPE, key] },
  { status: 413, path: `${p.tenant}/agents`, headers: [JSON_TYPE, key], isChunked: true },
  { status: 415, path: `${p.tenant}/agents`, headers: ['Content-Type: text/plain', key] },
  { status: 401, path: `${p.tenant}/files/scan`, headers: [form] },
  { status: 413, path: `${p.tenant}/files/scan`, headers: [form, key], mebibytes: 26 },
  { status: 415, path: `${p.tenant}/files/scan`, headers: [JSON_TYPE, key] },
  { status: 404, path: `/hooks/inbound/${ID}`, headers: [JSON_TYPE], mebibytes: 2 },
  { status: 413, path: `/hooks/inbound/${integration}`, headers: [JSON_TYPE], mebibytes: 26 },
  { status: 401, path: `/hooks/skills/${ID}`, headers: [JSON_TYPE], mebibytes: 2 },
  { status: 413, path: '/hooks/payments', headers: [JSON_TYPE], mebibytes: 2 },
];

test('a refusal before the end of a body reaches a client that first sends the whole body, on each kind of route', async () => {
  const answer = ({ path, headers, mebibytes = 1, isChunked = false, port = server.port }: Case) =>
    sendSlowly({
      port,
      head: [`POST ${path} HTTP/1.1`, 'Host: annals.test', ...headers],
      body: new Uint8Array(mebibytes * MEBIBYTE),
      isChunked,
    }).then(statusOf);
  // The server reads the rest of a body for some seconds at most, so the large ones are sent alone.
  const isLarge = ({ mebibytes = 1 }: Case): boolean => mebibytes > 2;
  const small = new Map(CASES.filter((one) => !isLarge(one)).map((one) => [one, answer(one)]));
  const found: string[] = [];
  for (const one of CASES) found.push(await (small.get(one) ?? answer(one)));
  assert.equal(
    CASES.map(({ path }, index) => `${found[index]} ${path}`),
    CASES.map(({ status, path }) => `${status} close ${path}`),
  );
});

test.run();
