import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as RunnerCredential from '../../domain/runners/runner-credential.ts';
import { areaResources } from '../fixtures/area-cases.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { stripeEvent, stripeSignature, subscriptionOf } from '../fixtures/payment-platform.ts';
import type { createTestPlatform } from '../fixtures/test-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';
import { skillArchive } from '../fixtures/zip-archive.ts';
import { CONFIG_KEY } from './id-positions.ts';
import { importMemory, rememberText } from './seed-memory.ts';

export type Platform = Awaited<ReturnType<typeof createTestPlatform>>;
export type Created = { id: string; user_id: string; key: string; secret: string; url: string; token: string };

/**
 * The types of resources in the dataset. Each tenant has one resource of each type. Types that belong to the platform
 * have one resource in total.
 */
type NamedType =
  | 'tenant'
  | 'agent'
  | 'member'
  | 'role holder'
  | 'grantee'
  | 'heir'
  | 'tool'
  | 'connector'
  | 'use case'
  | 'listing'
  | 'listing slug'
  | 'offered listing'
  | 'version'
  | 'benchmark slug'
  | 'memory import'
  | 'memory entry'
  | 'api key'
  | 'sign-in'
  | 'runner key'
  | 'integration'
  | 'delivery'
  | 'blocked delivery'
  | 'job'
  | 'session'
  | 'approval'
  | 'reservation'
  | 'file'
  | 'session file'
  | 'runner credential'
  | 'skill'
  | 'cron job'
  | 'blackout'
  | 'mailbox'
  | 'message'
  | 'attachment'
  | 'credential request'
  | 'linked identity'
  | 'provider'
  | 'user'
  | 'model'
  | 'fallback model'
  | 'plan'
  | 'allowed account'
  | 'platform key'
  | 'projection'
  | 'rebuild'
  | 'parked event'
  | 'event';
/** The resource of an area is called like its parameter: see area-cases.ts. */
type AreaType = `${string}_id`;
export type ResourceType = NamedType | AreaType;

/** Types of resources whose names the caller can choose freely, so that every name is valid in every tenant. */
export const FREE_NAMES: readonly ResourceType[] = ['connector', 'provider', 'use case', 'version'];

export type Resources = Partial<Record<NamedType, string>> & Record<AreaType, string>;

/** Signs a browser in with an API key. @returns the id of the sign-in */
export const signInByKey = async (p: Pick<Platform, 'send'>, key: string): Promise<string> => {
  const headers = { origin: 'http://annals.test', 'sec-fetch-site': 'same-origin' };
  const { headers: answer } = await p.send('POST', '/auth/key', { key: '', headers, body: { key } });
  return /=(\w+)\./.exec(answer.getSetCookie()[0]!)![1]!;
};

export const request = async (p: Platform, method: string, path: string, key: string, body?: unknown): Promise<Created> => {
  const answer = await p.send(method, path, { key, ...(body === undefined ? {} : { body }) });
  if (answer.status >= 300)
    throw new Error(`the request to create the dataset was refused: ${method} ${path} ${answer.status} ${answer.text}`);
  return answer.body as Created;
};

const MEMBERS = [
  'admin',
  'member',
  'auditor',
  'viewer',
  'manager',
  'agent owner',
  'granted viewer',
  'granted editor',
  'returned',
  'suspended',
  'removed',
] as const;
type MemberName = (typeof MEMBERS)[number];
const TENANT_ROLE: Partial<Record<MemberName, string>> = { admin: 'ADMIN', auditor: 'AUDITOR' };

const sendDelivery = async (p: Platform, { url, secret }: Created): Promise<string> => {
  const raw = '{"zen":"speak like a human"}';
  const headers = {
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`,
    'x-github-delivery': randomUUID(),
    'x-github-event': 'ping',
  };
  const answer = await p.send('POST', new URL(url).pathname, { key: '', raw, headers });
  if (answer.status !== 202) throw new Error(`the delivery of the dataset was refused: ${answer.text}`);
  return (answer.body as Created).id;
};

/** Sends a delivery while its integration is paused. @returns its id */
const sendBlocked = async (p: Platform, tenant: string, key: string, integration: Created): Promise<string> => {
  const path = `${tenant}/webhook-integrations/${integration.id}`;
  await request(p, 'PATCH', path, key, { is_paused: true });
  const id = await sendDelivery(p, integration);
  await request(p, 'PATCH', path, key, { is_paused: false });
  return id;
};

const uploadFile = async (p: Platform, path: string, key: string, content: string) => {
  const raw = formBody({ name: 'upload', filename: 'a.txt', content });
  const answer = await p.send('POST', path, { key, raw, headers: { 'content-type': FORM_TYPE } });
  if (answer.status !== 201) throw new Error(`the file of the dataset was refused: ${answer.text}`);
  return answer.body as { readonly id: string; readonly sha256: string };
};

const importSkill = async (p: Platform, tenant: string, key: string, name: string): Promise<string> => {
  const raw = formBody({ name: 'upload', filename: 'a.zip', content: skillArchive(name) });
  const answer = await p.send('POST', `${tenant}/skills/import`, { key, raw, headers: { 'content-type': FORM_TYPE } });
  if (answer.status !== 201) throw new Error(`the skill of the dataset was refused: ${answer.text}`);
  return (answer.body as { id: string }).id;
};

const addAttachment = async (p: Platform, path: string, key: string): Promise<string> => {
  const raw = formBody({ name: 'file', filename: 'a.txt', content: 'Mail' });
  const answer = await p.send('POST', path, { key, raw, headers: { 'content-type': FORM_TYPE } });
  if (answer.status !== 201) throw new Error(`the attachment of the dataset was refused: ${answer.text}`);
  return (answer.body as { id: string }).id;
};

export const publishVersion = async (p: Platform, path: string, key: string, version: string): Promise<void> => {
  const bundle = { name: 'bundle', filename: 'a.zip', content: skillArchive(`offer-${path.length}`) };
  const raw = formBody(bundle, { name: 'version', content: version });
  const answer = await p.send('POST', path, { key, raw, headers: { 'content-type': FORM_TYPE } });
  if (answer.status !== 201) throw new Error(`the version of the dataset was refused: ${answer.text}`);
};

const issueCredential = (p: Platform, tenant: string, agent_id: string): Promise<{ id: string }> => {
  const ctx = p.systemContext(tenant);
  const fields = { public_key: 'U', subject: 's', stream: 's', consumer: 'c', expires_at: new Date(Date.now() + 600_000).toISOString() };
  return ctx.transact(RunnerCredential, ctx.newId(), RunnerCredential.issue({ ...fields, agent_id }), { expectNew: true });
};

/**
 * Sends the payment provider's report that the tenant's subscription has ended. The report gives the tenant a customer
 * id at the provider.
 */
const reportSubscription = async (p: Platform, tenant_id: string): Promise<void> => {
  const raw = JSON.stringify(stripeEvent('customer.subscription.deleted', subscriptionOf(tenant_id, 'canceled')));
  const answer = await p.send('POST', '/hooks/payments', { key: '', raw, headers: { 'stripe-signature': stripeSignature(raw) } });
  if (answer.status !== 200) throw new Error(`the payment event of the dataset was refused: ${answer.text}`);
};

/** Creates a tenant with one resource of every type, and with one member for every role. */
export const seedTenant = async (p: Platform, slug: string) => {
  const { id, tenant, key: owner } = await createSecondTenant(p, slug);
  const post = (path: string, body?: unknown) => request(p, 'POST', `${tenant}${path}`, owner, body);
  const ids = {} as Record<MemberName, string>;
  const keys = {} as Record<MemberName, string>;
  for (const member of MEMBERS) {
    const email = `${member.replace(' ', '.')}@${slug}.test`;
    ids[member] = (await post('/members', { email, role: TENANT_ROLE[member] ?? 'MEMBER' })).user_id;
    keys[member] = await p.createKey(id, ids[member]);
  }
  const agent = (await post('/agents', { name: 'One', slug: 'one' })).id;
  const second = (await post('/agents', { name: 'Two', slug: 'two' })).id;
  const roles = { viewer: 'VIEWER', manager: 'MANAGER', 'agent owner': 'OWNER' } as const;
  for (const [member, role] of Object.entries(roles))
    await request(p, 'PUT', `${tenant}/agents/${agent}/roles/${ids[member as MemberName]}`, owner, { role });
  await request(p, 'PUT', `${tenant}/agents/${second}/roles/${ids['agent owner']}`, owner, { role: 'OWNER' });
  await request(p, 'PATCH', `${tenant}/agents/${second}`, owner, { is_admin_only: true });
  await request(p, 'PUT', `${tenant}/agents/${agent}/roles/${ids.returned}`, owner, { role: 'MANAGER' });
  await post(`/agents/${agent}/grants`, { user_id: ids.returned });
  await request(p, 'DELETE', `${tenant}/members/${ids.returned}`, owner);
  await sleep(2);
  await post('/members', { email: `returned@${slug}.test`, role: 'MEMBER' });
  await post(`/agents/${agent}/grants`, { user_id: ids['granted viewer'] });
  await post(`/agents/${agent}/grants`, { user_id: ids['granted editor'], role: 'EDITOR' });
  const runnerKey = await post(`/agents/${agent}/runner-keys`, { name: 'runner' });
  const otherRunner = await post(`/agents/${second}/runner-keys`, { name: 'other runner' });
  // Create this key as an ADMIN: an ADMIN may not revoke the keys of an OWNER.
  const apiKey = await request(p, 'POST', `${tenant}/api-keys`, keys.admin, { name: 'spare' });
  const integration = await post('/webhook-integrations', { provider: 'github', agent_id: agent, label: 'Repo' });
  const skillFields = { name: 'Skill', description: 'A skill', instructions: 'Do it' };
  const skill = await importSkill(p, tenant, owner, 'public');
  await request(p, 'PATCH', `${tenant}/skills/${skill}`, owner, { visibility: 'public' });
  const privateSkill = (await post('/skills', { ...skillFields, slug: 'private' })).id;
  await post(`/agents/${agent}/skills`, { skill_id: skill });
  const { token: skillToken } = await request(p, 'PUT', `${tenant}/skills/${skill}/webhook`, owner, { agent_id: agent });
  await request(p, 'PATCH', `${tenant}/agents/${agent}/skills/${skill}/config`, owner, { config: { token: 'a token' } });
  await request(p, 'PUT', `${tenant}/agents/${agent}/skill-permissions`, owner, { permissions: [{ skill_id: skill }] });
  await request(p, 'PUT', `${tenant}/agents/${agent}/can-author-skills`, owner, { can_author_skills: true });
  await request(p, 'PUT', `${tenant}/agents/${agent}/repo`, owner, { url: 'https://git.example.com/agent.git' });
  const tool = await post('/tools', { name: 'tool', display_name: 'Tool', description: 'A tool' });
  await post(`/agents/${agent}/tools`, { tool_id: tool.id });
  const session = (await post(`/agents/${agent}/sessions`, { title: 'Session', user_id: ids.manager })).id;
  const append = (message: object) =>
    request(p, 'POST', `${tenant}/sessions/${session}/messages`, runnerKey.key, { role: 'assistant', content: 'A message', ...message });
  await append({ prompt_tokens: 5 });
  const approval = await append({ kind: 'approval', approval: { action: 'Merge it' } });
  const target = { target_kind: 'external_url', target: 'https://example.com/hook' };
  const reservation = (await request(p, 'POST', `${tenant}/agents/${agent}/budget/reserve`, runnerKey.key, { amount_usd: 1 })).id;
  const jobFields = { name: 'Job', kind: 'recurring', ...target, interval_minutes: 60 };
  const cronJob = await post(`/agents/${agent}/cron-jobs`, jobFields);
  const otherJob = await post(`/agents/${second}/cron-jobs`, jobFields);
  const blackout = await post('/cron-blackouts', { name: 'Holidays', start_date: '2126-12-24', end_date: '2126-12-26' });
  await request(p, 'PATCH', tenant, owner, { external_mail_enabled: true });
  const message = await post(`/agents/${agent}/mail`, { to: [`${slug}@example.test`], subject: 'Mail', text: 'Mail' });
  const attachment = await addAttachment(p, `${tenant}/agents/${agent}/messages/${message.id}/attachments`, runnerKey.key);
  const asked = { skill_id: skill, config_key: CONFIG_KEY, prompt: 'A token' };
  const credentialRequest = await request(p, 'POST', `${tenant}/agents/${agent}/credential-requests`, runnerKey.key, asked);
  const identity = await post('/database-credentials', { host: 'seed.example.com', database: 'd', username: 'u', password: 'p' });
  await request(p, 'PUT', `${tenant}/agents/${agent}/credentials/${identity.id}`, owner);
  const file = await uploadFile(p, `${tenant}/sessions/${session}/attachments`, runnerKey.key, slug);
  const listing = await post('/marketplace/listings', { slug, name: 'Offer', summary: 'An offer', description: 'An offer' });
  await publishVersion(p, `${tenant}/marketplace/listings/${listing.id}/versions`, owner, '1.0.0');
  const memory = { key: owner, text: `Notes of somebody@${slug}.test` };
  const memoryImport = await importMemory(p, id, agent, memory);
  await reportSubscription(p, id);
  const replayRange = { from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' };
  const replay = await post(`/webhook-integrations/${integration.id}/replay`, replayRange);
  const resources: Resources = {
    tenant: id,
    agent,
    member: ids.member,
    user: ids.member,
    'role holder': ids.viewer,
    grantee: ids['granted viewer'],
    heir: ids.manager,
    tool: tool.id,
    connector: 'mailer',
    'use case': 'coding',
    listing: listing.id,
    'memory import': memoryImport,
    'memory entry': await rememberText(p, id, agent, memory),
    'api key': apiKey.id,
    'sign-in': await signInByKey(p, owner),
    'runner key': runnerKey.id,
    integration: integration.id,
    delivery: await sendDelivery(p, integration),
    'blocked delivery': await sendBlocked(p, tenant, owner, integration),
    job: replay.id,
    session,
    approval: approval.id,
    reservation,
    file: file.sha256,
    'session file': file.id,
    'runner credential': (await issueCredential(p, id, agent)).id,
    skill,
    'cron job': cronJob.id,
    blackout: blackout.id,
    message: message.id,
    attachment,
    'credential request': credentialRequest.id,
    'linked identity': identity.id,
    provider: 'github',
    event: p.log.events.find(({ category, tenant: of }) => category === 'agent' && of === id)!.event_id,
  };
  for (const { parameter, path, body } of areaResources) resources[parameter] = (await post(path, body)).id;
  const siblingImport = await importMemory(p, id, second, memory);
  const sibling: Resources = {
    'cron job': otherJob.id,
    'memory import': siblingImport,
    'memory entry': await rememberText(p, id, second, memory),
    'runner key': otherRunner.id,
    'runner credential': (await issueCredential(p, id, second)).id,
  };
  return {
    id,
    tenant,
    owner,
    ids,
    keys,
    runner: runnerKey.key,
    otherRunner: otherRunner.key,
    ...{ second, privateSkill, skillToken, sibling, resources },
  };
};

export type SeededTenant = Awaited<ReturnType<typeof seedTenant>>;
