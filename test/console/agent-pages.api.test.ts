import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, startConsole } from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';
import { addMember } from '../fixtures/users.ts';

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer');
const quiet = await createAgent(p, 'Triage');
const integration = await createIntegration(p, agent);
const session = await seedSession(p, agent);
const at = `${p.base}/agents/${agent}`;
const signedIn = async (role: 'MEMBER' | 'AUDITOR', agentRole?: string): Promise<string> => {
  const member = await addMember(p, role, p.tenant_id, `${role}-${agentRole ?? 'none'}@example.com`.toLowerCase());
  if (agentRole) await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${member.user_id}`, { body: { role: agentRole } });
  await p.waitForProjections();
  return p.signIn(member.key);
};
const manager = await signedIn('MEMBER', 'MANAGER');
const auditor = await signedIn('AUDITOR');

test('the tab of integrations lists those of the agent; visitors who may not read integrations see the connected providers', async () => {
  const { text } = await p.open(`${at}/integrations`);
  assert.match(text, new RegExp(`aria-current="page"[^>]*>Integrations[\\s\\S]*data-kind="integration" data-id="${integration}"`));
  assert.match((await p.open(`${p.base}/agents/${quiet}/integrations`)).text, /data-empty[\s\S]+No integrations[\s\S]+Connect a provider/);
  for (const visitor of [manager, auditor]) {
    const seen = await p.open(`${at}/integrations`, visitor);
    assert.is(seen.status, 200);
    assert.match(seen.text, /data-kind="provider" data-id="github"/);
    assert.not.match(seen.text, /data-kind="integration"|Connect a provider/);
  }
});

test('the tab of sessions lists those of the agent, with links only for visitors who may open a session', async () => {
  const link = new RegExp(`href="${p.base}/sessions/${session.id}"`);
  const row = new RegExp(`data-kind="session" data-id="${session.id}"[\\s\\S]+Review of pull request 42`);
  for (const visitor of [undefined, auditor]) {
    const { text } = await p.open(`${at}/sessions`, visitor);
    assert.match(text, row);
    assert.match(text, link);
  }
  const seen = await p.open(`${at}/sessions`, manager);
  assert.is(seen.status, 200);
  assert.match(seen.text, row);
  assert.not.match(seen.text, link);
  assert.match((await p.open(`${p.base}/agents/${quiet}/sessions`)).text, /data-empty[\s\S]+No sessions/);
  await p.recordPending();
  assert.equal(p.eventsOf('AccessRefused'), []);
});

test('the tab of costs shows the hours in which the budget was used', async () => {
  await p.send('POST', `${p.tenant}/agents/${agent}/budget/reserve`, { key: session.runner, body: { amount_usd: 0.4 } });
  const { text } = await p.open(`${at}/cost`);
  assert.match(text, /0 reservations were refused in these 24 hours[\s\S]+data-kind="budget-hour"[\s\S]+\$0\.40/);
});

const createDatabase = async (host: string): Promise<string> => {
  const body = { host, database: 'orders', username: 'reporting', password: 'canary of a password' };
  return ((await p.send('POST', `${p.tenant}/database-credentials`, { body })).body as { id: string }).id;
};

/** Links an account that belongs to the agent itself. */
const linkOwnAccount = async (): Promise<string> => {
  const tokens = { scopes: [], expires_at: null, sealed_tokens: 'sealed', refreshable: false };
  const fields = { agent_id: agent, provider: 'google', label: 'Its own account', ...tokens };
  return (await p.systemContext(p.tenant_id).transact(LinkedIdentity, 'cown000000000000000000000', LinkedIdentity.link(fields))).id;
};

test('the tab of the runner lists the credentials that the agent has; its form offers only those of the tenant', async () => {
  const [given, other, own] = [await createDatabase('one.example.com'), await createDatabase('two.example.com'), await linkOwnAccount()];
  assert.match((await p.open(`${at}/runner`)).text, /No credentials of the tenant[\s\S]+Give a credential/);
  const form = `/console/run/giveAgentCredential?tenant_id=${p.tenant_id}&agent_id=${agent}`;
  await p.waitForProjections();
  const { text } = await p.open(form);
  for (const [id, isOffered] of [
    [given, true],
    [other, true],
    [own, false],
  ] as const)
    assert.is(text.includes(`value="${id}"`), isOffered, id);
  const submitted = await p.submit('/console/run/giveAgentCredential', {
    ':tenant_id': p.tenant_id,
    ':agent_id': agent,
    ':identity_id': given,
  });
  assert.is(submitted.status, 303, submitted.text);
  const row = new RegExp(`data-kind="credential" data-id="${given}"[\\s\\S]+reporting@one\\.example\\.com:5432/orders`);
  const seen = await p.open(`${at}/runner`);
  assert.match(seen.text, row);
  assert.match(seen.text, /data-form="takeAgentCredential"/);
  assert.not.match(seen.text, /canary/);
  for (const visitor of [manager, auditor]) {
    const page = (await p.open(`${at}/runner`, visitor)).text;
    assert.match(page, row);
    assert.not.match(page, /takeAgentCredential|giveAgentCredential/);
  }
});

test('the page of a deleted agent says what a restore brings back, and what never comes back', async () => {
  const gone = await createAgent(p, 'Gone');
  await p.send('DELETE', `${p.tenant}/agents/${gone}`);
  await p.waitForProjections();
  const { text } = await p.open(`${p.base}/agents/${gone}`);
  assert.match(
    text,
    /can be restored with its settings[\s\S]+data-lost[^>]*>What never comes back: the deliveries[^<]+credentials of the tenant[\s\S]+data-form="restoreAgent"/,
  );
});

afterLastTest(() => p.close());

test.run();
