import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSockets, post } from '../faults/load.ts';
import { expectReply } from '../faults/running-platform.ts';
import { type Json, mailTests, newAgent, until } from '../fixtures/live-mail.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';

const use = mailTests(runningPlatform(), false);

test('the rate of a tenant counts webhook deliveries and the mail between its agents together, in all processes', () =>
  use(async (platform) => {
    const [from, to] = [await newAgent(platform), await newAgent(platform)];
    const tenant = `/tenant/${from.tenant}`;
    const secret = 'a-secret-of-github-0123456789';
    const fields = { provider: 'github', agent_id: to.id, label: 'Code', secret };
    const { id } = await expectReply<{ id: string }>(platform.call('POST', `${tenant}/webhook-integrations`, fields));
    const rule = { name: 'together', kind: 'rate', options: { max: 1, per_seconds: 3_600 }, action: 'hold' };
    await expectReply(platform.call('PUT', `${tenant}/guardrails`, [rule]), 200);
    const sockets = createSockets();
    const agent = { tenant: platform.tenant, id: to.id, slug: '', runnerKey: '' };
    const hook = { agent, id, path: `/hooks/inbound/${id}`, secret };
    assert.is((await post(platform.url, sockets, { hook, deliveryId: 'counted', body: '{}' })).kind, 'accepted');
    sockets.destroy();
    await from.send({ to: [to.address] });
    const deliveries = async (): Promise<Json[]> => JSON.parse((await platform.call('GET', `${tenant}/deliveries?agent_id=${to.id}`)).text);
    await until('the mail is recorded', async () => (await deliveries()).length === 2);
    const mail = (await deliveries()).find(({ provider }) => provider === 'mail')!;
    assert.equal([mail.status, (mail.held as Json | null)?.rule], ['held', 'together']);
  }));

test.run();
