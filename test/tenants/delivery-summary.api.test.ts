import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { startOverview } from '../fixtures/overview-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';

const { p, at, newAgent, connect, deliver, send, settle } = await startOverview();

const DAY_MS = 86_400_000;
const summaryOf = async (tenant: string) => {
  await p.waitForProjections();
  return ((await p.send('GET', `/admin/tenants/${tenant}`)).body as { delivery_summary_30d: unknown }).delivery_summary_30d;
};

test('the platform sees how many deliveries of a tenant were accepted and given up in the last 30 days', async () => {
  at(31 * DAY_MS);
  const agent = await newAgent('Reviewer');
  const hook = await connect(agent, 'Code');
  await deliver(hook);
  at(60_000);
  const [one] = [await deliver(hook), await deliver(hook), await deliver(hook)];
  await send(hook, 'push', 'sha256=forged');
  await settle(agent, [one], 'max_deliveries');
  at(0);
  assert.equal(await summaryOf(p.tenant_id), { accepted: 2, dead: 1 });
  assert.equal(await summaryOf((await createSecondTenant(p)).id), { accepted: 0, dead: 0 });
});

afterLastTest(() => p.close());

test.run();
