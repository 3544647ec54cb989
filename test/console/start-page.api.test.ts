import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';
import { formIn, submittedBy } from '../fixtures/html-form.ts';

const p = await startConsole();
const start = `${p.base}/start`;

test('without a provider, the first steps lead to a test delivery through an address for own programs', async () => {
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

test('clean-up: the console stops without an error', async () => {
  assert.equal(p.unappliedEvents(), []);
  await p.close();
});

test.run();
