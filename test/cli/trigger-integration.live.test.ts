import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const server = createAdaptorServer({ fetch: p.app.fetch }).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const create = async (path: string, body: Json): Promise<string> =>
  ((await p.send('POST', `${p.tenant}/${path}`, { body })).body as { id: string }).id;
const agent_id = await create('agents', { name: 'Reviewer', slug: 'reviewer' });
const integration = await create('webhook-integrations', { provider: 'github', agent_id, label: 'Code' });

const trigger = async (words: readonly string[], variables: NodeJS.ProcessEnv = { ANNALS_URL: url, ANNALS_KEY: p.key }) => {
  const program = startProgram(process.execPath, [mainFile, 'trigger', ...words], { env: { ...unconfiguredEnvironment(), ...variables } });
  return { code: await program.ended, output: program.output() };
};

test('annals trigger provider.event --integration sends a sample through the platform, and prints the outcome and the id of the delivery', async () => {
  const { code, output } = await trigger(['github.push', '--integration', integration]);
  assert.is(code, 0, output);
  const [, id] = /^accepted (c[a-z0-9]{24})\n$/.exec(output) ?? [];
  assert.ok(id, output);
  assert.is(((await p.send('GET', `${p.tenant}/deliveries/${id}`)).body as Json).event, 'push');
  assert.is((await trigger(['github', '--integration', integration])).code, 0);
  assert.equal(
    p.eventsOf('WebhookAccepted').map(({ meta }) => meta.facts?.event),
    ['push', 'ping'],
  );
});

test('annals trigger says which rule blocks or holds the sample, and until when', async () => {
  const hook = await create('webhook-integrations', { provider: 'github', agent_id, label: 'Rules' });
  const rulesAre = async (...rules: Json[]) =>
    assert.is((await p.send('PUT', `${p.tenant}/webhook-integrations/${hook}/guardrails`, { body: rules })).status, 200);
  const printed = async () => (await trigger(['github.push', '--integration', hook])).output.replace(/c[a-z0-9]{24}/, '<id>');
  await rulesAre({ name: 'no-push', kind: 'event_filter', options: { deny: ['push'] }, action: 'block' });
  assert.match(await printed(), /^blocked <id>: event filter, rule no-push: .+\n$/);
  await rulesAre({ name: 'busy', kind: 'rate', options: { max: 1, per_seconds: 86_400 }, action: 'hold' });
  assert.is(await printed(), 'accepted <id>\n');
  assert.match(await printed(), /^held <id>: rule busy: the limit of 1 in 86400 s is reached, until \d{4}-\S+Z\n$/);
});

test('an unknown provider or event, or an integration of another provider, is a usage error that names what is known', async () => {
  const refused = async (words: readonly string[], message: RegExp) => {
    const { code, output } = await trigger([...words, '--integration', integration]);
    assert.is(code, 2, output);
    assert.match(output, message);
  };
  await refused(['gitbub.push'], /There is no provider gitbub; the providers are .*github/);
  await refused(['github.pushed'], /There is no sample of pushed; github: .*push/);
  await refused(['github.push', 'push'], /Name the event once/);
  await refused(['gitlab.push', '--url', 'http://x.test'], /gitlab|combined/);
  await refused(['stripe'], /is one of github, not of stripe/);
});

test('if the platform refuses the test delivery, annals trigger prints the problem and the request id, and exits with 1', async () => {
  const unknown = await trigger(['github', '--integration', `c${'0'.repeat(24)}`]);
  assert.is(unknown.code, 1);
  assert.match(unknown.output, /^404 .+\n {2}request id: \S+\n$/s);
  const { key } = await addMember(p, 'MEMBER', p.tenant_id, 'member@example.com');
  const forbidden = await trigger(['github', '--integration', integration], { ANNALS_URL: url, ANNALS_KEY: key });
  assert.is(forbidden.code, 1);
  assert.match(forbidden.output, /^40[34] /);
  assert.match((await trigger(['github', '--integration', integration], { ANNALS_URL: url })).output, /ANNALS_KEY must be set/);
});

afterLastTest(async () => {
  server.close();
  await p.close();
});

test.run();
