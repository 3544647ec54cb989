import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';
import { formIn, submittedBy } from '../fixtures/html-form.ts';
import { addMember } from '../fixtures/users.ts';

const p = await startConsole();
const path = `${p.base}/credentials`;

test('the page of credentials names the agents that have each, since when, and can take it from one of them', async () => {
  const [triage, reviewer] = [await createAgent(p, 'Triage'), await createAgent(p, 'Reviewer')];
  const body = { host: 'db.example.com', database: 'orders', username: 'reporting', password: 'a-password' };
  const { id } = (await p.send('POST', `${p.tenant}/database-credentials`, { body })).body as { id: string };
  assert.match((await p.open(path)).text, /No agent has it/);
  for (const agent of [triage, reviewer]) assert.is((await p.send('PUT', `${p.tenant}/agents/${agent}/credentials/${id}`)).status, 200);
  const page = await p.open(path);
  assert.not.match(page.text, /a-password/);
  for (const [agent, name] of [
    [triage, 'Triage'],
    [reviewer, 'Reviewer'],
  ])
    assert.match(page.text, new RegExp(`data-id="${id} ${agent}"[^]*?/agents/${agent}/runner">${name}</a>[^]*?since <relative-time`));
  const form = formIn(page.text, 'takeAgentCredential');
  const fields = submittedBy(form);
  const taken = fields.get(':agent_id')!;
  const answer = await p.submit('/console/run/takeAgentCredential', Object.fromEntries(fields));
  assert.equal([answer.status, answer.headers.get('location')?.split('?')[0]], [303, path], answer.text.slice(0, 300));
  const after = await p.open(path);
  assert.equal(
    [triage, reviewer].filter((agent) => after.text.includes(`"${id} ${agent}"`)),
    [triage, reviewer].filter((agent) => agent !== taken),
  );
});

test('visitors who may not write credentials see the page without hidden agents and without changes', async () => {
  const member = await addMember(p, 'MEMBER', p.tenant_id, 'member@example.com');
  const page = await p.open(path, await p.signIn(member.key));
  assert.is(page.status, 200);
  assert.not.match(page.text, /data-form="(takeAgentCredential|unlinkIdentity)"|Triage|Reviewer/);
});

afterLastTest(p.close);

test.run();
