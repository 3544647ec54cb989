import fc from 'fast-check';
import { LABELS } from '../../domain/agents/role-permissions.ts';
import { areaResources } from '../fixtures/area-cases.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { stripeEvent, stripeSignature, subscriptionOf } from '../fixtures/payment-platform.ts';
import { addMember, type TestPlatform } from '../fixtures/users.ts';
import { sign } from '../fixtures/webhook-platform.ts';
import { skillArchive } from '../fixtures/zip-archive.ts';
import { importMemory, rememberText } from '../two-tenants/seed-memory.ts';
import { signInByKey } from '../two-tenants/seed-tenant.ts';

/** Creates a resource of every kind, so that generated requests can contain ids that exist. */
export const createResources = async (p: TestPlatform) => {
  const made = async (path: string, body: object) => ((await p.send('POST', path, { body })).body as { id: string }).id;
  const agent = await made(`${p.tenant}/agents`, { name: 'Agent', slug: `a${Math.random().toString(36).slice(2)}` });
  await p.send('PUT', `${p.tenant}/agents/${agent}/repo`, { body: { url: 'https://git.example.com/agent.git' } });
  const { user_id, key_id } = await addMember(p, 'MEMBER', p.tenant_id, `m${Math.random().toString(36).slice(2)}@example.com`);
  const victim = await made('/admin/tenants', { name: 'V', slug: `v${Math.random().toString(36).slice(2)}`, owner_email: 'v@example.com' });
  const secret = 'a secret of more than 24 bytes';
  const hook = await made(`${p.tenant}/webhook-integrations`, { provider: 'github', agent_id: agent, label: 'Code', secret });
  const raw = '{"zen":"Keep it simple"}';
  const headers = { 'x-github-delivery': 'd-1', 'x-github-event': 'push', 'x-hub-signature-256': sign(raw, secret) };
  await p.send('POST', `/hooks/inbound/${hook}`, { raw, headers });
  const delivery = p.eventsOf('WebhookAccepted').at(-1)!.id;
  const created = { name: 'A key' };
  const keys = {
    platform: await made('/admin/api-keys', created),
    runner: await made(`${p.tenant}/agents/${agent}/runner-keys`, created),
    tenant: key_id,
  };
  const account = await made('/admin/allowed-accounts', { email: `a${Math.random().toString(36).slice(2)}@example.com` });
  await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${user_id}`, { body: { role: 'MANAGER' } });
  await p.send('POST', `${p.tenant}/agents/${agent}/grants`, { body: { user_id, role: 'EDITOR' } });
  const skill = await made(`${p.tenant}/skills`, {
    name: 'Skill',
    slug: `s${Math.random().toString(36).slice(2)}`,
    description: 'A skill',
    instructions: 'Do it',
  });
  await p.send('POST', `${p.tenant}/agents/${agent}/skills`, { body: { skill_id: skill } });
  await p.send('PUT', `${p.tenant}/skills/${skill}/webhook`, { body: { agent_id: agent } });
  const tool = await made(`${p.tenant}/tools`, { name: `t${Math.random()}`, display_name: 'Tool', description: '' });
  await p.send('POST', `${p.tenant}/agents/${agent}/tools`, { body: { tool_id: tool } });
  const session = await made(`${p.tenant}/agents/${agent}/sessions`, { title: 'Review' });
  const job = await made(`${p.tenant}/agents/${agent}/cron-jobs`, {
    name: 'Job',
    kind: 'recurring',
    target_kind: 'external_url',
    target: 'https://example.com/hook',
    interval_minutes: 60,
  });
  const blackout = await made(`${p.tenant}/cron-blackouts`, { name: 'Holidays', start_date: '2126-12-24', end_date: '2126-12-26' });
  const replay = await made(`${p.tenant}/webhook-integrations/${hook}/replay`, {
    from: '2026-01-01T00:00:00Z',
    to: new Date(Date.now() + 60_000).toISOString(),
  });
  const runnerKey = ((await p.send('POST', `${p.tenant}/agents/${agent}/runner-keys`, { body: created })).body as { key: string }).key;
  const asked = await p.send('POST', `${p.tenant}/agents/${agent}/credential-requests`, {
    key: runnerKey,
    body: { skill_id: skill, config_key: 'token', prompt: 'A token' },
  });
  const credentialRequest = (asked.body as { id: string }).id;
  const database = { host: `h${Math.random().toString(36).slice(2)}`, database: 'd', username: 'u', password: 'p' };
  const identity = await made(`${p.tenant}/database-credentials`, database);
  const offer = `l${Math.random().toString(36).slice(2)}`;
  const listing = await made(`${p.tenant}/marketplace/listings`, { slug: offer, name: 'Offer', summary: 'An offer', description: '' });
  await p.send('POST', `${p.tenant}/marketplace/listings/${listing}/versions`, {
    raw: formBody({ name: 'bundle', filename: 'a.zip', content: skillArchive(offer) }, { name: 'version', content: '1.0.0' }),
    headers: { 'content-type': FORM_TYPE },
  });
  const memoryImport = await importMemory(p, p.tenant_id, agent, { key: p.key, text: 'A text' });
  const memoryEntry = await rememberText(p, p.tenant_id, agent, { key: p.key, text: 'A text' });
  const benchmark = `b${Math.random().toString(36).slice(2)}`;
  const tasks = { dataset_uri: 'https://example.com/tasks.jsonl', evaluator_strategy: 'exact' };
  await made('/benchmarks', { slug: benchmark, display_name: 'Benchmark', ...tasks });
  await made(`${p.tenant}/benchmark-runs`, { benchmark, agent_id: agent });
  const limits = { agents: 10_000, members: 10_000, cron_jobs: 10_000, webhooks_per_minute: 10_000 };
  const slug = `p${Math.random().toString(36).slice(2)}`;
  await made('/admin/plans', { slug, name: 'Plan', monthly_usd: 1, price_id: 'price_team', limits });
  const ended = JSON.stringify(stripeEvent('customer.subscription.deleted', subscriptionOf(p.tenant_id, 'canceled')));
  await p.send('POST', '/hooks/payments', { key: '', raw: ended, headers: { 'stripe-signature': stripeSignature(ended) } });
  await p.send('POST', '/admin/mail/heal', { body: {} });
  const mailbox = p.eventsOf('MailboxProvisioned').find(({ data }) => (data as { agent_id: string }).agent_id === agent)!.id;
  await p.send('PATCH', p.tenant, { body: { external_mail_enabled: true } });
  const message = await made(`${p.tenant}/agents/${agent}/mail`, { to: ['ada@example.com'], subject: 'Mail', text: 'Mail' });
  const file = await p.send('POST', `${p.tenant}/agents/${agent}/messages/${message}/attachments`, {
    raw: formBody({ name: 'file', filename: 'a.txt', content: 'Mail' }),
    headers: { 'content-type': FORM_TYPE },
  });
  const attachment = (file.body as { id: string }).id;
  const models = p.eventsOf('ModelRegistered').map(({ id }) => id);
  if (models[0]) await p.send('POST', `${p.tenant}/models/${models[0]}/agents`, { body: { agent_id: agent } });
  const others: Record<string, string> = {};
  for (const { parameter, path, body } of areaResources) others[parameter] = await made(`${p.tenant}${path}`, body);
  return {
    others,
    agent,
    user: user_id,
    keys,
    account,
    signIn: await signInByKey(p, p.key),
    victim,
    hook,
    delivery,
    session,
    skill,
    tool,
    job,
    replay,
    blackout,
    mailbox,
    message,
    attachment,
    listing,
    memoryImport,
    memoryEntry,
    offer,
    benchmark,
    credentialRequest,
    identity,
    models,
    plan: p.eventsOf('PlanCreated')[0]!.id,
  };
};
export type Resources = Awaited<ReturnType<typeof createResources>>;

/**
 * Returns a function that maps the name of a field or parameter to a generator of values for it. The generators for
 * names of ids generate ids of these resources.
 */
export const namedIn = ({
  agent,
  user,
  skill,
  tool,
  models,
  plan,
  delivery,
  credentialRequest,
  listing,
  benchmark,
  message,
  attachment,
}: Resources) => {
  const now = [new Date().toISOString(), new Date().toISOString().replace('Z', '+00:00')];
  const ids: Record<string, unknown[]> = {
    ...{ agent_id: [agent], user_id: [user], new_owner_id: [user], plan_id: [plan], skill_id: [skill], tool_id: [tool] },
    ...{ provider: ['github'], delivery_id_source: [null], secret: ['a secret of more than 24 bytes'] },
    ...{ OWNER: [LABELS], MANAGER: [LABELS.slice(0, 3)], VIEWER: [[]] },
    ...{ url: ['https://git.example.com/agent.git', null], code_ref: ['main', 'release-2'] },
    ...{ price_id: ['price_team'], listing_id: [listing], version: [null, '1.0.0'] },
    ...{ request_id: [credentialRequest], config_key: ['token'], host: ['db.example.com'], test_connection: [false] },
    ...{ dataset_uri: ['https://example.com/other.jsonl'], benchmark: [benchmark], tasks: [null, ['one']] },
    ...{
      to: [['ada@example.com'], ['ada@example.com'], ...now, ...now],
      cc: [[], ['ada@example.com']],
      in_reply_to: [null, message],
      attachment_ids: [[], [attachment]],
    },
    ...{ revision: [0, 1, 1_000_000] },
    ...{ target_kind: ['internal_agent'], target: [agent], cron_expr: ['0 9 * * *'], fire_at: [null], interval_minutes: [null] },
    ...{
      schedule_type: ['interval'],
      start_time: [null],
      timezone: ['UTC', 'Europe/Berlin'],
      headers: [{}, { 'x-team': 'ops' }],
      body_bytes: [null, 'e30='],
    },
    ...{ sort: ['created_at', '-created_at', 'nothing'], from: ['2026-01-01T00:00:00.000Z', ...now], as_of: now },
    ...{ ids: [[delivery]], outcome: ['accepted', null], event: [null] },
  };
  return (name: string) => {
    if (name === 'model_ids') return fc.uniqueArray(fc.constantFrom(...models), { minLength: 1, maxLength: 5 });
    if (name === 'failover_chain') return fc.constant([]);
    return ids[name] && fc.constantFrom(...ids[name]);
  };
};

const idIn = (
  path: string,
  { keys, signIn, hook, account, job, replay, blackout, identity, listing, mailbox, attachment, memoryImport }: Resources,
): string => {
  if (path.includes('/sign-ins/')) return signIn;
  if (path.includes('/imports/')) return memoryImport;
  if (path.includes('/listings/')) return listing;
  if (path.includes('/jobs/')) return replay;
  if (path.includes('cron-jobs')) return job;
  if (path.includes('cron-blackouts')) return blackout;
  if (path.includes('mailboxes')) return mailbox;
  if (path.includes('attachments')) return attachment;
  if (path.includes('linked-identities')) return identity;
  if (path.includes('allowed-accounts')) return account;
  if (path.includes('webhook-integrations')) return hook;
  if (path.includes('runner-keys')) return keys.runner;
  return path.startsWith('/admin') ? keys.platform : keys.tenant;
};

/** Returns the path with each parameter replaced by the id of one of these resources. */
export const pathOf = (p: TestPlatform, path: string, of: Resources): string =>
  path
    .replace('{tenant_id}', path.startsWith('/admin') ? of.victim : p.tenant_id)
    .replace('{agent_id}', of.agent)
    .replace('{source_id}', of.agent)
    .replace('{identity_id}', of.identity)
    .replace('{user_id}', of.user)
    .replace('{delivery_id}', of.delivery)
    .replace('{session_id}', of.session)
    .replace('{message_id}', of.message)
    .replace('{reservation_id}', of.agent)
    .replace('{skill_id}', of.skill)
    .replace('{entry_id}', of.memoryEntry)
    .replace('{model_id}', of.models[0]!)
    .replace('{tool_id}', of.tool)
    .replace('{connector}', 'mailer')
    .replace('{provider}', 'github')
    .replace('{slug}', path.startsWith('/benchmarks') ? of.benchmark : of.offer)
    .replace('{version}', '1.0.0')
    .replace('{event_id}', p.log.events.find(({ meta }) => meta.tenant === p.tenant_id)!.event_id)
    .replace('{name}', 'agents')
    .replace('{id}', idIn(path, of))
    .replace(/\{(\w+)\}/g, (whole, name: string) => of.others[name] ?? whole);
