import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { startOverview } from '../fixtures/overview-platform.ts';
import { addMember } from '../fixtures/users.ts';

const { p, at, call, idOf, newAgent, connect, deliver, settle } = await startOverview();
at(0);

const DAY_MS = 86_400_000;

const [refunds, reviews] = [await newAgent('Refunds'), await newAgent('Reviews')];
const [ofRefunds, ofReviews] = [await connect(refunds, 'Payments'), await connect(reviews, 'Code')];
const giveUp = async (agent: string, hook: string, count: number): Promise<void> => {
  const ids = [];
  for (let n = 0; n < count; n++) ids.push(await deliver(hook));
  await settle(agent, ids, 'max_deliveries');
};
/** Starts a session that waits for an answer. */
const wait = async (agent: string): Promise<void> => {
  const runner = (await call('POST', `agents/${agent}/runner-keys`, { name: 'Runner' })).key as string;
  const session = (await call('POST', `agents/${agent}/sessions`, { title: 'Refund' }, runner)).id;
  await call('POST', `sessions/${session}/messages`, { role: 'assistant', kind: 'waiting', content: 'May I?' }, runner);
};
const counts = async (key?: string) => {
  await p.waitForProjections();
  return call('GET', 'overview/counts', undefined, key);
};
const none = { dead_deliveries: 0, waiting_sessions: 0, stopped_agents: 0 };

at(DAY_MS + 60_000);
await giveUp(refunds, ofRefunds, 1);
at(60_000);
await giveUp(refunds, ofRefunds, 2);
await giveUp(reviews, ofReviews, 1);
await deliver(ofReviews);
at(0);
for (const agent of [refunds, reviews, reviews]) await wait(agent);
await call('PATCH', `agents/${refunds}`, { is_active: false });
await call('PUT', `agents/${refunds}/budget`, { hourly_limit_usd: 0 });
await call('PUT', `agents/${reviews}/budget`, { hourly_limit_usd: 0 });
await idOf('agents', { name: 'Busy', slug: 'busy' });

/** What each role sees. A role on an agent is one on Refunds, whose numbers are 2, 1 and 1. */
const SEEN = [
  ['OWNER', null, { dead_deliveries: 3, waiting_sessions: 3, stopped_agents: 2 }],
  ['ADMIN', null, { dead_deliveries: 3, waiting_sessions: 3, stopped_agents: 2 }],
  ['AUDITOR', null, { dead_deliveries: 0, waiting_sessions: 0, stopped_agents: 2 }],
  ['MEMBER', null, none],
  ['MEMBER', 'VIEWER', { dead_deliveries: 2, waiting_sessions: 0, stopped_agents: 1 }],
  ['MEMBER', 'MANAGER', { dead_deliveries: 2, waiting_sessions: 1, stopped_agents: 1 }],
] as const;

for (const [role, onAgent, expected] of SEEN)
  test(`${role}${onAgent ? ` with ${onAgent} on one agent` : ''} counts what this role may see, of the last 24 hours`, async () => {
    const { user_id, key } = await addMember(p, role, p.tenant_id, `${role}-${onAgent}@example.com`.toLowerCase());
    if (onAgent) await call('PUT', `agents/${refunds}/roles/${user_id}`, { role: onAgent });
    assert.equal(await counts(key), expected);
  });

test('a delivery that was received 30 hours ago and is given up now counts, and one that was given up 30 hours ago does not', async () => {
  const { dead_deliveries: before } = await counts();
  at(30 * 3_600_000);
  const late = await deliver(ofReviews);
  await giveUp(reviews, ofReviews, 1);
  at(0);
  await settle(reviews, [late], 'max_deliveries');
  assert.is((await counts()).dead_deliveries, Number(before) + 1);
});

test('an agent that is paused and has spent its budget counts once, and one that runs again does not count', async () => {
  await call('PUT', `agents/${reviews}/budget`, { hourly_limit_usd: 5 });
  assert.is((await counts()).stopped_agents, 1);
  await call('PATCH', `agents/${refunds}`, { is_active: true });
  assert.is((await counts()).stopped_agents, 1);
  await call('PUT', `agents/${refunds}/budget`, { hourly_limit_usd: null });
  assert.is((await counts()).stopped_agents, 0);
});

afterLastTest(() => p.close());

test.run();
