import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { PROVIDERS } from '../../domain/integrations/provider.ts';
import { triggerDelivery } from '../../infra/cli/deliveries/trigger-delivery.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { SIGNERS } from '../fixtures/provider-signatures.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const server = createServer(async (request, response) => {
  const headers = request.headers as Record<string, string>;
  const answer = await p.app.request(request.url!, { method: 'POST', headers, body: await buffer(request) });
  response.writeHead(answer.status).end(await answer.text());
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const agent = ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Reviewer', slug: 'reviewer' } })).body as Json).id;

// Leave out Twilio: it signs the URL, and the URL of this test server differs from the platform's public URL.
for (const provider of PROVIDERS.filter((one) => one !== 'discord' && one !== 'twilio'))
  test(`annals trigger sends a signed sample of ${provider}: it exits with 0 if the secret is right, and with 1 if it is wrong`, async () => {
    const { secret } = SIGNERS[provider];
    const body = { provider, agent_id: agent, label: 'Code', secret };
    const hook = ((await p.send('POST', `${p.tenant}/webhook-integrations`, { body })).body as Json).id;
    const before = p.eventsOf('WebhookAccepted').length;
    const url = `${origin}/hooks/inbound/${hook}`;
    assert.is(await triggerDelivery({ provider, url, secret }), 0);
    assert.is(await triggerDelivery({ provider, url, secret: `${secret.slice(0, -1)}0` }), 1);
    assert.is(p.eventsOf('WebhookAccepted').length, before + 1);
  });

test('annals trigger with a wrong provider, event or URL, or without a secret, prints a usage error; if the server is down, it exits with 1', async () => {
  const right = { provider: 'github', url: origin, secret: 'x' };
  const wrong = [{ provider: 'none' }, { event: 'none' }, { url: 'none' }, { secret: undefined }, { provider: 'discord' }];
  for (const change of wrong)
    await triggerDelivery({ ...right, ...change }).then(
      () => assert.unreachable(JSON.stringify(change)),
      ({ name }: Error) => assert.is(name, 'CLIError', JSON.stringify(change)),
    );
  await new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  assert.is(await triggerDelivery(right), 1);
});

afterLastTest(() => p.close());

test.run();
