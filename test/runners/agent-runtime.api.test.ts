import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { CodeHost } from '../../commands/agents/code-host.ts';
import { outgoingMessage } from '../../commands/runners/relay.reactor.ts';
import { omit } from '../../domain/omit.ts';
import { createCodeHost } from '../../infra/git/code-host.ts';
import { createRequestLog } from '../../infra/http/request-log.ts';
import { createRequestObserver } from '../../infra/http/request-observer.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';
import { sign } from '../fixtures/webhook-platform.ts';

type Json = Record<string, unknown>;
type Runtime = {
  models: Json[];
  skills: Json[];
  tools: Json[];
  position: string;
  agent: Json;
  repo: Json | null;
  budget: Json;
  credentials: [];
};

/** Secrets in the runtime. They may occur in no other place than in the response to the runner. */
const CANARIES = { model: 'canary-of-the-model-config', skill: 'canary-of-the-skill-config', repo: 'canary-of-the-git-token' };

const TOKENS = { 'git.example.com': CANARIES.repo };
const codeHost: CodeHost = {
  listRefs: async () => ({ branches: ['main'], tags: ['v1'], complete: true, isCached: false, failed: null }),
  hasRef: async () => ({ value: true, failed: null }),
  headBranch: async () => ({ value: 'main', failed: null }),
  tokenFor: createCodeHost({ client: null as never, tokens: TOKENS }).tokenFor,
};
const logged: string[] = [];
const requestLog = createRequestLog(pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }), 1);
const { onResponse } = createRequestObserver(new Registry(), requestLog.ofKind);
const p = await createTestPlatform({ codeHost, onResponse });
const post = async (path: string, body: Json): Promise<Json> => {
  const answer = await p.send('POST', path, { body });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
  return answer.body as Json;
};
const createAgent = async (slug: string) => {
  const agent = `${p.tenant}/agents/${(await post(`${p.tenant}/agents`, { name: 'Agent', slug })).id}`;
  return { agent, runner: (await post(`${agent}/runner-keys`, { name: 'runner' })).key as string };
};
const { agent, runner } = await createAgent('one');
const read = (key = runner, headers = {}): Promise<Answer> => p.send('GET', `${agent}/runtime`, { key, headers });
const runtime = async (): Promise<Runtime> => {
  const answer = await read();
  assert.is(answer.status, 200, answer.text);
  return answer.body as Runtime;
};

const register = async (slug: string, fields: Json = {}): Promise<string> =>
  (await post('/admin/models', { provider: 'acme', slug, name: slug, ...fields })).id as string;
const spare = await register('spare', { config: { api_key: CANARIES.model } });
const primary = await register('primary', { failover_chain: [spare] });
const createSkill = async (slug: string): Promise<string> =>
  (await post(`${p.tenant}/skills`, { name: slug, slug, description: 'A skill', instructions: `Do ${slug}` })).id as string;
const skill = await createSkill('notes');
const registerTool = async (name: string): Promise<string> =>
  (await post(`${p.tenant}/tools`, { name, display_name: name, description: '' })).id as string;
const tool = await registerTool('send');

const setUp = async (): Promise<void> => {
  assert.is((await p.send('PUT', `${agent}/models`, { body: { model_ids: [primary] } })).status, 200);
  await post(`${agent}/skills`, { skill_id: skill });
  assert.is((await p.send('PATCH', `${agent}/skills/${skill}/config`, { body: { config: { token: CANARIES.skill } } })).status, 200);
  await post(`${agent}/tools`, { tool_id: tool, configuration: { channel: 'alerts' } });
  await p.send('PUT', `${agent}/budget`, { body: { hourly_limit_usd: 2.5 } });
};
await setUp();

test('the runtime of an agent contains its settings, models, skills with their decrypted configuration, tools and budget', async () => {
  const { agent: settings, models, skills, tools, repo, budget, credentials } = await runtime();
  assert.equal([settings.slug, settings.kind, settings.description_prompt], ['one', 'user', null]);
  assert.equal(models, [{ model_id: primary, provider: 'acme', slug: 'primary', config: {}, access: 'full', priority: 0 }]);
  const [{ digest, ...rest }] = skills as [Json];
  assert.match(String(digest), /^[0-9a-f]{64}$/);
  assert.equal(
    [skills.length, rest],
    [
      1,
      {
        id: skill,
        slug: 'notes',
        version: 1,
        instructions: 'Do notes',
        config: { token: CANARIES.skill },
        package_digest: null,
        files: null,
      },
    ],
  );
  assert.equal([tools.length, tools[0]!.name, tools[0]!.configuration], [1, 'send', { channel: 'alerts' }]);
  assert.equal([repo, budget, credentials], [null, { hourly_limit_usd: 2.5 }, []]);
});

test('in the runtime of an agent, a disabled model is replaced by its failover model; when the model is active again, the runtime contains it again', async () => {
  await p.send('PATCH', `/admin/models/${primary}`, { body: { status: 'disabled' } });
  assert.equal((await runtime()).models, [
    { model_id: spare, provider: 'acme', slug: 'spare', config: { api_key: CANARIES.model }, access: 'full', priority: 0 },
  ]);
  await p.send('PATCH', `/admin/models/${primary}`, { body: { status: 'active' } });
  assert.equal(
    (await runtime()).models.map(({ model_id }) => model_id),
    [primary],
  );
});

test('the runtime of an agent contains no skills that are disabled, forbidden or deleted, and no tools that are disabled or removed', async () => {
  const [disabled, forbidden, deleted] = [await createSkill('disabled'), await createSkill('forbidden'), await createSkill('deleted')];
  await post(`${agent}/skills`, { skill_id: disabled, is_enabled: false });
  for (const skill_id of [forbidden, deleted]) await post(`${agent}/skills`, { skill_id });
  const permissions = [
    { skill_id: forbidden, allowed: false },
    { skill_id: skill, allowed: true },
  ];
  assert.is((await p.send('PUT', `${agent}/skill-permissions`, { body: { permissions } })).status, 200);
  await p.send('DELETE', `${p.tenant}/skills/${deleted}`);
  const [off, removed] = [await registerTool('off'), await registerTool('removed')];
  await post(`${agent}/tools`, { tool_id: off, is_enabled: false });
  await post(`${agent}/tools`, { tool_id: removed });
  await p.send('DELETE', `${p.tenant}/tools/${removed}`);
  const { skills, tools } = await runtime();
  assert.equal([skills.map(({ id }) => id), tools.map(({ id }) => id)], [[skill], [tool]]);
});

test('the runtime contains the linked repository with the token for its host; the token is null if none is configured for the host', async () => {
  const link = (url: string) => p.send('PUT', `${agent}/repo`, { body: { url, code_ref: 'v1' } });
  assert.is((await link('https://constructor.example.org/a.git')).status, 200);
  assert.equal((await runtime()).repo, { url: 'https://constructor.example.org/a.git', code_ref: 'v1', token: null });
  assert.is((await link('https://git.example.com/a.git')).status, 200);
  assert.equal((await runtime()).repo, { url: 'https://git.example.com/a.git', code_ref: 'v1', token: CANARIES.repo });
});

test("only the agent's own runner key can read the runtime of the agent", async () => {
  const other = await createAgent('two');
  const neighbour = await createSecondTenant(p);
  const statuses = await Promise.all([p.key, other.runner, neighbour.key, ''].map((key) => read(key)));
  assert.equal(
    statuses.map(({ status }) => status),
    [403, 403, 404, 401],
  );
  for (const { text } of statuses) assert.not.match(text, /canary/);
});

test('each read of a runtime is recorded with the list of what it contained, except a read that gets 304', async () => {
  const disclosures = () => p.eventsOf('RuntimeDisclosed');
  const before = disclosures().length;
  const first = await read();
  assert.is(disclosures().length, before + 1);
  const event = omit(disclosures().at(-1)!, 'at');
  assert.equal(event.actor.kind, 'agent');
  assert.equal(event.data, {
    agent_id: agent.split('/').at(-1),
    position: (first.body as Runtime).position,
    models: [primary],
    skills: [{ skill_id: skill, version: 1, has_config: true, package_digest: null }],
    tools: [tool],
    credentials: [],
    repo_token_of: 'https://git.example.com/a.git',
  });
  const etag = first.headers.get('etag')!;
  const same = await read(runner, { 'if-none-match': etag });
  assert.equal([same.status, same.text, disclosures().length], [304, '', before + 1]);
  await p.send('PATCH', `${p.tenant}/skills/${skill}`, { body: { instructions: 'Do more' } });
  const changed = await read(runner, { 'if-none-match': etag });
  assert.equal([changed.status, disclosures().length, (changed.body as Runtime).skills[0]!.version], [200, before + 2, 2]);
  assert.not.equal((changed.body as Runtime).position, (first.body as Runtime).position);
  const revision = (await p.send('GET', agent)).headers.get('etag');
  await read();
  assert.is((await p.send('GET', agent)).headers.get('etag'), revision, 'a read does not change the agent');
});

test('the audit log shows each read of a runtime, with the agent as the actor', async () => {
  await read();
  const entries = (await p.send('GET', `${p.tenant}/audit-logs?action=runtime.disclosed`)).body as Json[];
  const { resource_type, resource_id, summary, agent_id } = entries[0]!;
  assert.equal([resource_type, resource_id, agent_id], ['agent', agent.split('/').at(-1), agent.split('/').at(-1)]);
  assert.match(String(summary), /read the runtime of the agent/);
});

test('no event, row or response contains a secret of the runtime, except responses to the runner and to callers who may read the configuration', async () => {
  await read();
  await p.waitForProjections();
  const stored = JSON.stringify(
    p.log.events.filter(({ type }) => type !== 'ModelRegistered').map(({ data, meta }) => [data, meta]),
    (_, value) => (typeof value === 'bigint' ? String(value) : value),
  );
  for (const canary of Object.values(CANARIES)) assert.not.ok(stored.includes(canary), `an event has ${canary}`);
  const reads = [
    agent,
    `${agent}/skills`,
    `${agent}/tools`,
    `${agent}/models`,
    `${agent}/history`,
    `${p.tenant}/skills`,
    `${p.tenant}/models`,
  ];
  const logs = [
    `${agent}/repo-refs`,
    `${p.tenant}/audit-logs?limit=200`,
    `${p.tenant}/audit-logs/export?format=jsonl`,
    '/admin/audit-logs?limit=200',
  ];
  for (const path of [...reads, ...logs, `${p.tenant}/agents`, '/me']) {
    const { status, text } = await p.send('GET', path);
    assert.is(status, 200, path);
    assert.not.ok(text.includes(CANARIES.skill), `${path} shows the configuration of the skill`);
    assert.not.ok(text.includes(CANARIES.repo), `${path} shows the token of the repository`);
    if (!path.startsWith('/admin')) assert.not.ok(text.includes(CANARIES.model), `${path} shows the configuration of the model`);
  }
});

test('a read of the runtime is logged, and no log line contains a secret', async () => {
  logged.length = 0;
  await read();
  await sleep(20);
  const lines = logged.join('');
  assert.match(lines, /\/runtime/);
  for (const canary of Object.values(CANARIES)) assert.not.ok(lines.includes(canary), `the log has ${canary}`);
});

test('the message that tells a runner about a delivery contains no secret of the runtime', async () => {
  const secret = 'a secret of more than 24 bytes';
  const hook = await post(`${p.tenant}/webhook-integrations`, {
    provider: 'github',
    agent_id: agent.split('/').at(-1),
    label: 'L',
    secret,
  });
  const raw = '{"zen":"Keep it simple"}';
  const headers = { 'x-github-delivery': 'd-1', 'x-github-event': 'ping', 'x-hub-signature-256': sign(raw, secret) };
  assert.is((await p.send('POST', `/hooks/inbound/${hook.id}`, { key: '', raw, headers })).status, 202);
  const accepted = p.log.events.findLast(({ type }) => type === 'WebhookAccepted')!;
  const { payload } = outgoingMessage(await p.vault.openEvent(accepted), 'http://annals.test', 65_536);
  const message = Buffer.from(payload).toString();
  assert.match(message, /Keep it simple/);
  for (const canary of Object.values(CANARIES)) assert.not.ok(message.includes(canary), `the message has ${canary}`);
});

test('reading the runtime of a deleted agent gets 404', async () => {
  const gone = await createAgent('gone');
  await p.send('DELETE', gone.agent);
  assert.is((await p.send('GET', `${gone.agent}/runtime`, { key: gone.runner })).status, 404);
});

afterLastTest(async () => {
  requestLog.close();
  await p.close();
});

test.run();
