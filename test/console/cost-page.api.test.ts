import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';
import { addMember } from '../fixtures/users.ts';

const p = await startConsole();
const empty = await p.open(`${p.base}/costs`);
const agent = await createAgent(p, 'Reviewer');
const { runner } = await seedSession(p, agent);

test('without costs, the costs page explains what it would show', () => {
  assert.is(empty.status, 200);
  assert.match(empty.text, /data-empty[\s\S]+No costs in this period/);
});

test('each grouping of the costs page shows its groups and the same total', async () => {
  for (const [group_by, label] of [
    ['day', new Date().toISOString().slice(0, 10)],
    ['agent', 'Reviewer'],
    ['model', 'no model'],
    ['cause', 'runner'],
  ]) {
    const { text } = await p.open(`${p.base}/costs?group_by=${group_by}`);
    assert.match(text, new RegExp(`data-kind="cost"[\\s\\S]+${label}[\\s\\S]+data-total[\\s\\S]+\\$0\\.05`), group_by);
    assert.match(text, /role="img" aria-labelledby="costs-title"/);
  }
});

test("the hours of an agent's budget show its reservations, and how many of them another limit would have refused", async () => {
  for (const amount_usd of [0.4, 0.3, 0.2])
    await p.send('POST', `${p.tenant}/agents/${agent}/budget/reserve`, { key: runner, body: { amount_usd } });
  const { text } = await p.open(`${p.base}/costs?agent_id=${agent}`);
  assert.match(text, /data-hypothesis[^>]*>0 reservations were refused/);
  assert.match(text, /data-kind="budget-hour"[\s\S]+no limit/);
  const limited = await p.open(`${p.base}/costs?agent_id=${agent}&limit_usd=0.1`);
  assert.match(limited.text, /At \$0\.10 per hour, 3 reservations would have been refused/);
  assert.is((await p.open(`${p.base}/costs?group_by=week`)).status, 422);
});

test('for a visitor who may not read costs, the costs page looks like an unknown page, and no link leads to it', async () => {
  for (const [role, status] of [
    ['ADMIN', 200],
    ['MEMBER', 404],
  ] as const) {
    const session = await p.signIn((await addMember(p, role, p.tenant_id, `c-${role}@example.com`)).key);
    assert.is(/href="[^"]+\/costs"/.test((await p.open(p.base, session)).text), status === 200, role);
    assert.is((await p.open(`${p.base}/costs`, session)).status, status, role);
  }
});

test('clean-up: the console stops without an error', async () => {
  assert.equal(p.unappliedEvents(), []);
  await p.close();
});

test.run();
