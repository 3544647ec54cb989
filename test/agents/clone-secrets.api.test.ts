import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { openapiDocument } from '../fixtures/openapi-document.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

/**
 * Recognisable texts (canaries) that the test stores in an agent, its skills, its tools and its webhooks. Each text is
 * stored in only one place, so finding it in a response shows which data the caller can read.
 */
const CANARIES = {
  sshKey: 'ssh-ed25519 canary-of-the-ssh-key',
  earlierSshKey: 'ssh-ed25519 canary-of-the-earlier-ssh-key',
  earlierPrompt: 'canary-of-the-earlier-prompt',
  privateInstructions: 'canary-of-the-private-instructions',
  publicInstructions: 'canary-of-the-public-instructions',
  privateConfig: 'canary-of-the-config-of-the-private-skill',
  publicConfig: 'canary-of-the-config-of-the-public-skill',
  toolConfiguration: 'canary-of-the-configuration-of-the-tool',
  webhookSecret: 'canary-of-the-secret-of-the-webhook',
  databasePassword: 'canary-of-the-password-of-a-database',
};
type Canary = keyof typeof CANARIES;

const p = await createTestPlatform();
const post = async (path: string, body: object): Promise<string> =>
  ((await p.send('POST', p.tenant + path, { body })).body as { id: string }).id;
const source = await post('/agents', { name: 'Source', slug: 'source', description_prompt: CANARIES.earlierPrompt });
const path = `${p.tenant}/agents/${source}`;
const skillOf = (slug: string, visibility: string, instructions: string) =>
  post('/skills', { name: slug, slug, description: 'A skill', visibility, instructions });
const skills = {
  private: await skillOf('private', 'private', CANARIES.privateInstructions),
  public: await skillOf('public', 'public', CANARIES.publicInstructions),
};
const tool = await post('/tools', { name: 'tool', display_name: 'T', description: 'T', description_long: 'T', input_schema: {} });
for (const [skill_id, token] of [
  [skills.private, CANARIES.privateConfig],
  [skills.public, CANARIES.publicConfig],
]) {
  await p.send('POST', `${path}/skills`, { body: { skill_id } });
  await p.send('PATCH', `${path}/skills/${skill_id}/config`, { body: { config: { token } } });
}
await p.send('POST', `${path}/tools`, { body: { tool_id: tool, configuration: { token: CANARIES.toolConfiguration } } });
await post('/webhook-integrations', { provider: 'github', agent_id: source, label: 'Code', secret: CANARIES.webhookSecret });
const database = { host: 'db.example.com', database: 'd', username: 'u', password: CANARIES.databasePassword };
await p.send('PUT', `${path}/credentials/${await post('/database-credentials', database)}`);
await p.send('PATCH', path, { body: { ssh_public_key: CANARIES.earlierSshKey } });
await p.send('PATCH', path, { body: { ssh_public_key: CANARIES.sshKey, description_prompt: null } });

const readers = Object.fromEntries(
  await Promise.all(
    ['VIEWER', 'MANAGER', 'NONE'].map(async (role) => {
      const { user_id, key } = await addMember(p, 'MEMBER', p.tenant_id, `${role}@example.com`.toLowerCase());
      if (role !== 'NONE') await p.send('PUT', `${path}/roles/${user_id}`, { body: { role } });
      return [role, key];
    }),
  ),
) as Record<'VIEWER' | 'MANAGER' | 'NONE', string>;

/**
 * The path templates of those reads below /tenant/ that have no other path parameters than the ids of the tenant, an
 * agent, a skill or a tool.
 */
const READS = Object.entries(openapiDocument<{ paths: Record<string, Json> }>().paths)
  .filter(([template, methods]) => template.startsWith('/tenant/') && 'get' in methods)
  .map(([template]) => template)
  .filter((template) => [...template.matchAll(/\{(\w+)\}/g)].every(([, name]) => /^(tenant|agent|skill|tool)_id$/.test(name!)));

const pathsFor = (agent: string): string[] =>
  READS.flatMap((template) => {
    const filled = template.replace('{tenant_id}', p.tenant_id).replace('{agent_id}', agent).replace('{tool_id}', tool);
    return filled.includes('{skill_id}') ? Object.values(skills).map((id) => filled.replace('{skill_id}', id)) : [filled];
  });

/**
 * Returns the canaries that this caller can read. A caller who can create a runner key for the agent can also read what
 * the runner can read.
 */
const readableBy = async (key: string, agent: string): Promise<Canary[]> => {
  await p.waitForProjections();
  const created = await p.send('POST', `${p.tenant}/agents/${agent}/runner-keys`, { key, body: { name: 'canary' } });
  const runner = created.status === 201 ? [(created.body as { key: string }).key] : [];
  let text = '';
  for (const credential of [key, ...runner])
    for (const one of pathsFor(agent)) {
      const query = one.endsWith('/diff') ? '?from=2020-01-01T00:00:00Z' : '';
      text += (await p.send('GET', one + query, { key: credential })).text;
    }
  return (Object.keys(CANARIES) as Canary[]).filter((name) => text.includes(CANARIES[name]));
};

const without = (some: readonly Canary[], others: readonly Canary[]): Canary[] => some.filter((name) => !others.includes(name));
const cloneAs = async (key: string, name: string): Promise<string> =>
  ((await p.send('POST', `/agents/${source}/clone`, { key, body: { name } })).body as { id: string }).id;
const skillsOf = async (agent: string) =>
  ((await p.send('GET', `${p.tenant}/agents/${agent}/skills`)).body as Json[]).map(({ skill_id, has_config }) => [skill_id, has_config]);

const before = {
  owner: await readableBy(p.key, source),
  VIEWER: await readableBy(readers.VIEWER, source),
  MANAGER: await readableBy(readers.MANAGER, source),
  NONE: await readableBy(readers.NONE, source),
};

test("before an agent is cloned, each caller of these tests can read exactly the data of that agent that the caller's role allows", () => {
  assert.equal(without(Object.keys(CANARIES) as Canary[], before.owner), ['webhookSecret'], 'nobody can read the secret of a webhook');
  for (const hidden of ['privateInstructions', 'privateConfig', 'publicConfig', 'databasePassword'] as const)
    assert.not.ok(before.VIEWER.includes(hidden), hidden);
  assert.ok(before.VIEWER.includes('toolConfiguration'));
  assert.ok(before.MANAGER.includes('privateConfig'));
  assert.equal(before.NONE, ['publicInstructions']);
});

for (const role of ['VIEWER', 'MANAGER'] as const)
  test(`when the ${role} clones an agent, they cannot read any data of the copy that they could not read in the source, neither as its owner nor with a runner key`, async () => {
    const copy = await cloneAs(readers[role], `Copy of a ${role}`);
    assert.equal(without(await readableBy(readers[role], copy), before[role]), []);
    assert.equal(without(await readableBy(readers.NONE, copy), before.NONE), [], 'nor does anybody else');
    const visible = role === 'MANAGER' ? [skills.private, skills.public] : [skills.public];
    assert.equal((await skillsOf(copy)).sort(), visible.map((id) => [id, false]).sort());
  });

test('a copy made by an OWNER of the tenant has all skills of its source, but none of their configuration, no SSH keys and no webhooks', async () => {
  const copy = await cloneAs(p.key, 'Copy of an owner');
  assert.equal((await skillsOf(copy)).sort(), [skills.private, skills.public].map((id) => [id, false]).sort());
  const answers = await Promise.all(
    ['', '/skills', '/tools', '/history', '/integrations', '/runner-keys'].map((part) =>
      p.send('GET', `${p.tenant}/agents/${copy}${part}`),
    ),
  );
  const text = answers.map((answer) => answer.text).join();
  for (const name of ['sshKey', 'earlierSshKey', 'privateConfig', 'publicConfig', 'webhookSecret', 'earlierPrompt'] as const)
    assert.not.ok(text.includes(CANARIES[name]), name);
  assert.ok(text.includes(CANARIES.toolConfiguration));
  assert.not.match(text, /"connected":true/);
});

test('the event of a copy contains no secret, not even an encrypted one', () => {
  const events = JSON.stringify(p.eventsOf('AgentCloned').map(({ data }) => data));
  for (const name of without(Object.keys(CANARIES) as Canary[], ['toolConfiguration']))
    assert.not.ok(events.includes(CANARIES[name]), name);
  assert.not.match(events, /sealed|"v1\./);
});

test('after an earlier revision of an agent is restored, nobody can read more of the agent than before, and deleted SSH keys stay deleted', async () => {
  const last = Number(/\d+/.exec((await p.send('GET', path)).headers.get('etag')!)![0]);
  for (let revision = 0; revision <= last; revision++) {
    const { status, body, text } = await p.send('POST', `${path}/restore`, { key: readers.MANAGER, body: { revision } });
    assert.equal([status, (body as Json).ssh_public_key], [200, CANARIES.sshKey], text);
  }
  for (const role of ['VIEWER', 'MANAGER', 'NONE'] as const)
    assert.equal(without(await readableBy(readers[role], source), before[role]), [], role);
});

afterLastTest(() => p.close());

test.run();
