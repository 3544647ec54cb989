import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { readWrappedKeys } from '../../../infra/vault/wrapped-keys.ts';
import { createSockets, post } from '../../faults/load.ts';
import type { Platform } from '../../faults/platform.ts';
import { ADMIN_KEY, expectReply } from '../../faults/running-platform.ts';
import { findText, findTexts } from '../../faults/secret-search.ts';
import { type Agent, createDataset, type Hook } from '../../faults/tenants.ts';
import { eventually } from '../../fixtures/child-process.ts';
import { FORM_TYPE, formBody } from '../../fixtures/form-body.ts';
import type { SecretCase } from './secret-case.ts';

/**
 * A unique text that only callers who may read the tenant's resource should see. It has characters that are escaped in
 * JSON and in URLs.
 */
type Canary = { readonly kind: string; readonly text: string };

const createCanaries = () => {
  const all: Canary[] = [];
  const next = (kind: string): string => {
    const text = `canary"&${randomBytes(18).toString('hex')}`;
    all.push({ kind, text });
    return text;
  };
  return { all, next };
};

type Next = (kind: string) => string;
type Caller = ReturnType<typeof callerOf>;

/** Returns functions that send requests with the tenant's key, or with a key that is passed to them. */
const callerOf = (platform: Platform, { tenant }: Agent) => {
  const path = (rest: string): string => `/tenant/${tenant.id}${rest}`;
  const send = async <T = { id: string }>(method: string, rest: string, body: object, key = tenant.key): Promise<T> => {
    const reply = await platform.call(method, path(rest), body, { key });
    assert.ok(reply.status < 300, `${method} ${rest}: ${reply.status} ${reply.text}`);
    return (reply.text === '' ? null : JSON.parse(reply.text)) as T;
  };
  const upload = async (rest: string, field: string, content: string, key = tenant.key): Promise<void> => {
    const response = await fetch(platform.url + path(rest), {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': FORM_TYPE },
      body: new Uint8Array(formBody({ name: field, filename: 'notes.txt', content })),
    });
    assert.ok(response.status < 300, `${rest}: ${response.status} ${await response.text()}`);
  };
  return { send, upload };
};

/** Sends deliveries to a hook, and returns their ids. */
const sendDeliveries = async (platform: Platform, hook: Hook, next: Next): Promise<string[]> => {
  const sockets = createSockets();
  const bodies = [
    ...Array.from({ length: 8 }, () => JSON.stringify({ text: next('a small body') })),
    ...Array.from({ length: 4 }, () => JSON.stringify({ filler: 'x'.repeat(950_000), text: next('a large body') })),
    ...Array.from({ length: 2 }, () => `{"broken": "${next('a blocked body')}`),
  ];
  const ids: string[] = [];
  for (const body of bodies) {
    const answer = await post(platform.url, sockets, { hook, deliveryId: randomUUID(), body });
    assert.is(answer.kind, 'accepted', answer.detail);
    ids.push(answer.id!);
  }
  sockets.destroy();
  return ids;
};

const reportAttempt = async ({ send }: Caller, agent: Agent, delivery_id: string, next: Next): Promise<void> => {
  const texts = { reason: next('the reason of a failed attempt'), stderr_tail: next('what a failed attempt has written') };
  await send('POST', `/deliveries/${delivery_id}/attempts`, { attempt: 1, outcome: 'failed', seconds: 1, ...texts }, agent.runnerKey);
};

const createSkill = async ({ send }: Caller, agent: Agent, next: Next): Promise<void> => {
  const schema = { type: 'object', properties: {} };
  const fields = { name: 'Skill', slug: 'skill', description: 'A skill', instructions: 'Do it', config_schema: schema };
  const { id } = await send('POST', '/skills', fields);
  await send('POST', `/agents/${agent.id}/skills`, { skill_id: id });
  for (let n = 0; n < 3; n++) {
    await send('PATCH', `/agents/${agent.id}/skills/${id}/config`, { config: { token: next('a skill configuration') } });
    const asked = { skill_id: id, config_key: `key_${n}`, prompt: 'A key' };
    const request = await send('POST', `/agents/${agent.id}/credential-requests`, asked, agent.runnerKey);
    const value = next('a credential');
    await send('POST', '/credentials', { request_id: request.id, skill_id: id, config_key: `key_${n}`, value });
  }
};

const runSessions = async ({ send, upload }: Caller, agent: Agent, next: Next): Promise<void> => {
  const start = async (): Promise<string> => `/sessions/${(await send('POST', `/agents/${agent.id}/sessions`, {}, agent.runnerKey)).id}`;
  const [completed, failed] = [await start(), await start()];
  for (let n = 0; n < 5; n++)
    await send('POST', `${completed}/messages`, { role: 'assistant', content: next('a message of a session') }, agent.runnerKey);
  for (let n = 0; n < 4; n++) await upload(`${completed}/attachments`, 'upload', next('an attachment'), agent.runnerKey);
  await send('POST', `${completed}/complete`, { summary: next('the summary of a session') }, agent.runnerKey);
  await send('POST', `${failed}/fail`, { error: next('the error of a session') }, agent.runnerKey);
};

const storeSecrets = async ({ send, upload }: Caller, agent: Agent, next: Next): Promise<void> => {
  for (let n = 0; n < 3; n++) {
    const password = next('a password of a database');
    await send('POST', '/database-credentials', { database: 'd', username: 'u', host: `h${n}.example.com`, password });
    await upload(`/agents/${agent.id}/memory/import`, 'file', next('a memory'));
    await send('POST', `/agents/${agent.id}/memory`, { text: next('a remembered text') }, agent.runnerKey);
    const fields = { provider: 'github', agent_id: agent.id, label: `label ${n}`, secret: next('a signing secret') };
    await send('POST', '/webhook-integrations', fields);
  }
  const job = { name: 'Job', kind: 'recurring', cron_expr: '0 9 * * *', target_kind: 'external_url', target: 'https://example.com/hook' };
  await send('POST', `/agents/${agent.id}/cron-jobs`, { ...job, headers: { Authorization: next('a header of a job') } });
};

const wrappedKeyOf = async (platform: Platform, tenant: string): Promise<string> => {
  const log = platform.openLog();
  return (await readWrappedKeys(log, tenant, 'vault').finally(() => log.close()))[0]!.wrapped;
};

const waitForCompletion = async (platform: Platform, tenant: string): Promise<void> => {
  const log = platform.openLog();
  const isCompleted = async () => (await log.last(`tenant-${tenant}.${tenant}`))?.type === 'TenantErasureCompleted';
  await eventually('the erasure is completed', isCompleted).finally(() => log.close());
};

/** Fills two tenants with contents, and erases one of them. */
export const erasedContents: SecretCase = {
  name: 'after the erasure of a tenant, none of 40 texts of its contents occurs in a file, log line or backup, in any encoding',
  act: async (platform) => {
    const { agents, hooks } = await createDataset(platform, { tenants: 2, agents: 1, hooks: 1 });
    const [erased, kept] = agents as [Agent, Agent];
    const canaries = createCanaries();
    const ofKept = createCanaries();
    for (const [agent, { next }, hook] of [
      [erased, canaries, hooks[0]!],
      [kept, ofKept, hooks[1]!],
    ] as const) {
      const caller = callerOf(platform, agent);
      const [delivery] = await sendDeliveries(platform, hook, next);
      await reportAttempt(caller, agent, delivery!, next);
      await createSkill(caller, agent, next);
      await runSessions(caller, agent, next);
      await storeSecrets(caller, agent, next);
    }
    assert.ok(canaries.all.length >= 40, `${canaries.all.length} canaries`);
    const nats = join(platform.data, 'nats');
    await eventually('a message to the runner is stored', () => findText(canaries.all[0]!.text, [nats]).length > 0);
    const wrapped = await Promise.all([erased, kept].map(({ tenant }) => wrappedKeyOf(platform, tenant.id)));
    const erase = () => platform.call('DELETE', `/admin/tenants/${erased.tenant.id}`, { reason: 'a test' }, { key: ADMIN_KEY });
    const receipt = await expectReply<object>(erase(), 202);
    await waitForCompletion(platform, erased.tenant.id);
    assert.equal(await expectReply<object>(erase(), 202), receipt);
    return ({ own, backup, printed }) => {
      const dirs = [...own, backup];
      assert.ok(findText(wrapped[1]!, [backup]).length > 0, 'the search finds the key of the other tenant in the backup');
      assert.equal(findText(wrapped[0]!, dirs), [], 'the data key');
      assert.ok(findText(ofKept.all[0]!.text, [nats]).length > 0, 'the messages of the other tenant are kept');
      const texts = canaries.all.map(({ text }) => text);
      const found = findTexts(texts, dirs);
      for (const { kind, text } of canaries.all) {
        assert.equal(found.get(text), [], kind);
        assert.not.ok(printed.includes(text), `${kind} in the output`);
      }
    };
  },
};
