import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, findDelivery, startConsole } from '../fixtures/console-platform.ts';
import { formIn, submittedBy } from '../fixtures/html-form.ts';

const p = await startConsole();
const start = `${p.base}/start`;

test('without a provider, the first steps lead to a test delivery through a webhook URL for custom senders', async () => {
  await createAgent(p, 'Reviewer');
  await p.waitForProjections();
  const { text } = await p.open(start);
  assert.match(text, /data-step="integration" data-done="false"[\s\S]+Connect a sender[\s\S]+Go on without a provider/);
  const connected = await p.submit(
    '/console/run/connectWebhookIntegration',
    Object.fromEntries(submittedBy(formIn(text, 'connectWebhookIntegration'))),
  );
  assert.match(connected.text, /data-secret/);
  await p.waitForProjections();
  const next = await p.open(start);
  assert.match(
    next.text,
    /data-step="integration" data-done="true"[\s\S]+Where to paste it[\s\S]+Let the service send POST requests to the address/,
  );
  const [integration] = p.eventsOf('IntegrationConnected');
  const sent = await p.send('POST', `${p.tenant}/webhook-integrations/${integration!.id}/test-delivery`, { body: {} });
  assert.ok(sent.status < 300, sent.text);
  await p.waitForProjections();
  const done = await p.open(start);
  assert.match(done.text, /data-step="delivery" data-done="true"/);
});

test('after a provider was connected, the page of the new integration follows', async () => {
  const form = formIn((await p.open(`/console/run/connectWebhookIntegration?tenant_id=${p.tenant_id}`)).text, 'connectWebhookIntegration');
  const agent_id = p.eventsOf('AgentCreated')[0]!.id;
  const fields = submittedBy(form, { '/provider': 'github', '/agent_id': agent_id, '/label': 'Code' });
  fields.delete('_return');
  const { text } = await p.submit('/console/run/connectWebhookIntegration', Object.fromEntries(fields));
  const { id } = p.eventsOf('IntegrationConnected').at(-1)!;
  assert.match(text, new RegExp(`href="${p.base}/integrations/${id}[?"]`));
});

test('a delivery that is rejected or blocked is shown with its reason, and does not count as received', async () => {
  const hook = await createIntegration(p, await createAgent(p, 'Guarded'));
  const stepDelivery = async () => (await p.open(start)).text.split('data-step="delivery"')[1]!.split('data-step="watch"');
  await deliver(p, hook, 'ping', { forged: true }, { signature: `sha256=${'0'.repeat(64)}` });
  const rejected = await findDelivery(p, `rejected&integration_id=${hook}`);
  const [refused, watch] = await stepDelivery();
  assert.match(refused!, /^ data-done="false"[\s\S]+data-refused="rejected"[\s\S]+Reason: signature_mismatch[\s\S]+the answer 401/);
  assert.ok(refused!.includes(`${p.base}/deliveries/${rejected}`) && refused!.includes(`${p.base}/integrations/${hook}`));
  assert.match(watch!, /^ data-done="false"/);

  const pause = (is_paused: boolean) => p.send('PATCH', `${p.tenant}/webhook-integrations/${hook}`, { body: { is_paused } });
  const sendSample = () => p.send('POST', `${p.tenant}/webhook-integrations/${hook}/test-delivery`, { body: {} });
  await pause(true);
  assert.is(((await sendSample()).body as { outcome: string }).outcome, 'blocked');
  assert.match((await p.open(start)).text, /blocked until it is resumed[\s\S]+data-form="updateWebhookIntegration"[\s\S]+Resume/);
  assert.match((await stepDelivery())[0]!, /^ data-done="false"[\s\S]+data-refused="blocked"[\s\S]+Reason: paused/);
  await pause(false);
  await sendSample();
  const [received] = await stepDelivery();
  assert.match(received!, /^ data-done="true"/);
  assert.not.match(received!, /data-refused/);

  await pause(true);
  await sendSample();
  assert.match((await stepDelivery())[0]!, /^ data-done="true"[\s\S]+data-refused="blocked"/);
});

afterLastTest(() => p.close());

test.run();
