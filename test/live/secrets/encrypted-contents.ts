import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type { Platform } from '../../faults/platform.ts';
import { expectReply } from '../../faults/running-platform.ts';
import { findText, findTexts } from '../../faults/secret-search.ts';
import { createDataset, type Dataset } from '../../faults/tenants.ts';
import { annals, type SecretCase } from './secret-case.ts';

// Bodies of deliveries are not among the contents of this case, because delivery-bodies.ts tests them.

const canaries = new Map<string, string>();
/** Creates a unique text that only readers of this kind of content should see. */
const canary = (kind: string): string => {
  const text = `canary${randomBytes(18).toString('hex')}`;
  canaries.set(text, kind);
  return text;
};

type Created = { readonly id: string };
type Caller = {
  readonly platform: Platform;
  readonly dataset: Dataset;
  readonly send: <T = Created>(method: string, path: string, body: object, status?: number, key?: string) => Promise<T>;
};

const callerOf = async (platform: Platform): Promise<Caller> => {
  const dataset = await createDataset(platform, { tenants: 1, agents: 1, hooks: 1 });
  const { id, key: ownerKey } = dataset.tenants[0]!;
  return {
    platform,
    dataset,
    send: (method, path, body, status = 201, key = ownerKey) =>
      expectReply(platform.call(method, `/tenant/${id}${path}`, body, { key }), status),
  };
};

const sendCredentials = async ({ send, dataset }: Caller): Promise<void> => {
  const agent_id = dataset.agents[0]!.id;
  const integration = { provider: 'github', agent_id };
  for (let n = 0; n < 5; n++) {
    const { id } = await send('POST', '/webhook-integrations', { ...integration, label: `l${n}`, secret: canary('integration') });
    await send('POST', `/webhook-integrations/${id}/rotate-secret`, { secret: canary('rotated secret') }, 200);
  }
  const skill = { name: 'S', slug: 's', description: 'd', visibility: 'public', instructions: 'i' };
  const { id: skill_id } = await send('POST', '/skills', skill);
  await send('POST', `/agents/${agent_id}/skills`, { skill_id });
  for (let n = 0; n < 5; n++)
    await send('PATCH', `/agents/${agent_id}/skills/${skill_id}/config`, { config: { token: canary('skill configuration') } }, 200);
  for (let n = 0; n < 5; n++)
    await send('POST', '/database-credentials', { host: `h${n}.example.com`, database: 'd', username: 'u', password: canary('password') });
  const job = { kind: 'recurring', interval_minutes: 1_000, target_kind: 'external_url', target: 'https://example.com/hook' };
  for (let n = 0; n < 5; n++) {
    const headers = { authorization: `Bearer ${canary('cron header')}` };
    await send('POST', `/agents/${agent_id}/cron-jobs`, { ...job, name: `j${n}`, headers });
  }
};

const attach = async ({ platform, dataset }: Caller, session: string, content: string): Promise<void> => {
  const form = new FormData();
  form.append('upload', new Blob([content]), 'file.txt');
  const { tenant, runnerKey } = dataset.agents[0]!;
  const url = `${platform.url}/tenant/${tenant.id}/sessions/${session}/attachments`;
  const response = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${runnerKey}` }, body: form });
  assert.is(response.status, 201, await response.text());
};

const sendSessions = async (caller: Caller): Promise<void> => {
  const { id: agent_id, runnerKey } = caller.dataset.agents[0]!;
  const send = (path: string, body: object, status?: number) => caller.send('POST', path, body, status, runnerKey);
  for (let n = 0; n < 5; n++) {
    const { id } = await send(`/agents/${agent_id}/sessions`, {});
    await send(`/sessions/${id}/messages`, { role: 'assistant', content: canary('message') });
    await attach(caller, id, canary('attachment'));
    if (n % 2 === 0) await send(`/sessions/${id}/complete`, { summary: canary('summary') }, 200);
    else await send(`/sessions/${id}/fail`, { error: canary('error') }, 200);
  }
};

/** Stores texts of all kinds of encrypted contents, makes a backup, and then rotates the keys. */
export const encryptedContents: SecretCase = {
  name: 'no file, backup or output of a platform contains a text of nine kinds of encrypted contents, even after the keys were rotated',
  act: async (platform) => {
    const caller = await callerOf(platform);
    await sendCredentials(caller);
    await sendSessions(caller);
    assert.is(canaries.size, 40);
    assert.is(new Set(canaries.values()).size, 9);
    const before = join(platform.dir, 'before');
    await annals(platform, 'backup', '--to', before);
    const { id } = caller.dataset.tenants[0]!;
    const rotated = await annals(platform, 'vault', 'rotate', '--tenant', id);
    const after = (await annals(platform, 'vault', 'rotate', '--master')) + (await annals(platform, 'vault', 'status', '--json'));
    return ({ own, backup, printed }) => {
      const dirs = [...own, before, backup];
      assert.match(findText(id, dirs).join('\n'), /\/data\/store\/.*plain/, 'the search finds what is in the log');
      assert.match(findText(id, [before]).join('\n'), /plain/, 'the search finds what is in the backup');
      const found = findTexts([...canaries.keys()], dirs);
      for (const [text, kind] of canaries) {
        assert.equal(found.get(text), [], kind);
        assert.not.ok([printed, rotated, after].join('').includes(text), kind);
      }
    };
  },
};
