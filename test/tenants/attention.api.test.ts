import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as RunnerCredential from '../../domain/runners/runner-credential.ts';
import { advanceReplays } from '../../infra/deliveries/replay-deliveries.ts';
import { runningJobs } from '../../projections/deliveries/replay-job.queries.ts';
import { unexpiredKeysOf } from '../../projections/runners/runner-credential.queries.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { NOW, only, startOverview } from '../fixtures/overview-platform.ts';
import { addMember } from '../fixtures/users.ts';
import { replayerOf } from '../fixtures/without-releases.ts';

const { p, at, call, newAgent, connect, send, deliver, settle, read } = await startOverview();
at(0);

/** Sends the deliveries of an integration again, to another agent. */
const redirect = async (integration_id: string, target_agent_id: string): Promise<void> => {
  await p.waitForProjections();
  await call('POST', 'deliveries/replay', { integration_id, target_agent_id });
  const now = new Date(NOW).toISOString();
  await p.waitForProjections();
  while (await advanceReplays(replayerOf(p.log), await runningJobs(p.reads, now), now)) await p.waitForProjections();
};

test('callers who may read the deliveries of one agent do not see the agent to which they were sent again', async () => {
  const agent = await newAgent('Reviewer');
  const secret = await newAgent('Secret', { is_admin_only: true });
  const hook = await connect(agent, 'Code');
  at(1_000);
  const ids = [await deliver(hook), await deliver(hook), await deliver(hook)];
  at(0);
  await redirect(hook, secret);
  await settle(secret, ids, 'failed');
  const { user_id, key } = await addMember(p, 'MEMBER');
  await call('PUT', `agents/${agent}/roles/${user_id}`, { role: 'VIEWER' });
  assert.equal(
    only(await read(), 'runner_failing').map(({ subject, count }) => [subject.name, count]),
    [['Secret', 3]],
  );
  const seen = JSON.stringify([await read(key), await call('GET', 'agents/summary', undefined, key)]);
  assert.not.ok(seen.includes(secret) || seen.includes('Secret'), seen);
});

test('the many keys of one agent do not hide the key of another', async () => {
  const [restarting, steady, tenant_id] = [await newAgent('Restarting'), await newAgent('Steady'), p.tenant_id];
  const expires_at = new Date(NOW + 3_600_000).toISOString();
  const issue = async (agent_id: string, public_key: string): Promise<void> => {
    const ctx = p.systemContext(tenant_id);
    const fields = { agent_id, public_key, subject: 's', stream: 'AGENTS', consumer: 'c', expires_at };
    await ctx.transact(RunnerCredential, ctx.newId(), RunnerCredential.issue(fields));
  };
  await issue(steady, 'U-steady');
  at(-1_000);
  for (let n = 0; n < 201; n++) await issue(restarting, `U-${n}`);
  at(0);
  await p.waitForProjections();
  const keys = await unexpiredKeysOf(p.reads, { tenant_id, agent_ids: [restarting, steady], at: new Date(NOW).toISOString() });
  assert.equal([keys.get(restarting)!.length, keys.get(steady)], [200, ['U-steady']]);
});

test('deliveries that were given up for different reasons are different items, each with the filter of its own deliveries', async () => {
  const agent = await newAgent('Refunder');
  const runner = (await call('POST', `agents/${agent}/runner-keys`, { name: 'Runner' })).key as string;
  const hook = await connect(agent, 'Payments');
  const reasons = ['The dispute API answered 502', 'The dispute API answered 502', 'The card has expired', null];
  const ids: string[] = [];
  for (const reason of reasons) {
    const id = await deliver(hook);
    ids.push(id);
    if (reason === null) continue;
    const code = reason.includes('card') ? 'EXPIRED' : 'HTTP_502';
    await call('POST', `deliveries/${id}/attempts`, { attempt: 1, outcome: 'failed', code, reason, seconds: 1 }, runner);
  }
  await p.recordPending();
  await settle(agent, ids, 'max_deliveries');
  const items = only(await read(), 'deliveries_dead').filter(({ agent_id }) => agent_id === agent);
  const shown = items.map(({ count, reason }) => [count, reason]).toSorted();
  assert.equal(shown, [
    [1, 'The card has expired'],
    [1, 'max deliveries'],
    [2, 'The dispute API answered 502'],
  ]);
  for (const { problem, count } of items) {
    const listed = await call('GET', `deliveries?agent_id=${agent}&outcome=dead&problem=${problem ?? 'none'}`);
    assert.is((listed as unknown as unknown[]).length, count);
  }
});

test('calls with a wrong signature do not make an integration count as one that has fallen silent', async () => {
  const hook = await connect(await newAgent('Rarely used'), 'Rarely used');
  at(2 * 86_400_000 + 60_000);
  for (let n = 0; n < 20; n++) await send(hook, 'push', 'sha256=forged');
  await deliver(hook);
  at(0);
  const isStored = async () => {
    await p.waitForProjections();
    return (await p.send('GET', `${p.tenant}/deliveries?outcome=rejected&limit=200`)).body as unknown[];
  };
  for (let waited = 0; waited < 100 && (await isStored()).length < 20; waited++) await sleep(50);
  assert.ok((await isStored()).length >= 20, 'the rejected calls are in the list');
  assert.not.ok(only(await read(), 'integration_silent').some(({ subject }) => subject.id === hook));
});

afterLastTest(() => p.close());

test.run();
