import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { OAUTH_PROVIDERS } from '../../domain/credentials/oauth-provider.ts';
import { PROVIDERS } from '../../domain/integrations/provider.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;

/** The providers that send webhooks, and the providers at which users connect accounts. */
const ALL_PROVIDERS = [...new Set([...PROVIDERS, ...Object.keys(OAUTH_PROVIDERS)])].toSorted();

const p = await createTestPlatform();
const create = async (path: string, body: Json): Promise<string> =>
  ((await p.send('POST', p.tenant + path, { body })).body as Json).id as string;
const [agent, other] = [await create('/agents', { name: 'A', slug: 'a' }), await create('/agents', { name: 'B', slug: 'b' })];
const listOf = async (id: string): Promise<Json[]> => {
  await p.waitForProjections();
  return (await p.send('GET', `${p.tenant}/agents/${id}/integrations`)).body as Json[];
};
const connectedTo = async (id: string) => (await listOf(id)).filter(({ connected }) => connected).map(({ provider }) => provider);

test("the list of an agent's integrations has one row for each provider, with the provider's display name", async () => {
  const rows = await listOf(agent);
  assert.equal(
    rows.map(({ provider }) => provider),
    ALL_PROVIDERS,
  );
  assert.equal(
    rows.find(({ provider }) => provider === 'github'),
    { provider: 'github', label: 'GitHub', connected: false },
  );
});

test('a provider is shown as connected as long as the agent has an integration with this provider that is neither paused nor disconnected', async () => {
  const [first, second] = [
    await create('/webhook-integrations', { provider: 'github', agent_id: agent, label: 'One' }),
    await create('/webhook-integrations', { provider: 'github', agent_id: agent, label: 'Two' }),
  ];
  const change = (id: string, body: Json) => p.send('PATCH', `${p.tenant}/webhook-integrations/${id}`, { body });
  assert.equal([await connectedTo(agent), await connectedTo(other)], [['github'], []]);
  await change(first, { is_paused: true });
  assert.equal(await connectedTo(agent), ['github'], 'the other integration is not paused');
  await change(second, { agent_id: other });
  assert.equal([await connectedTo(agent), await connectedTo(other)], [[], ['github']]);
  await change(first, { is_paused: false });
  assert.equal(await connectedTo(agent), ['github']);
  await p.send('DELETE', `${p.tenant}/webhook-integrations/${first}`);
  assert.equal(await connectedTo(agent), []);
});

test("the pages of the list of an agent's integrations contain every provider exactly once", async () => {
  const seen: unknown[] = [];
  let next: string | undefined = `${p.tenant}/agents/${other}/integrations?limit=5`;
  while (next) {
    const { body, headers } = await p.send('GET', next);
    assert.ok((body as Json[]).length <= 5);
    seen.push(...(body as Json[]).map(({ provider }) => provider));
    next = /<(.+)>/.exec(headers.get('link') ?? '')?.[1];
  }
  assert.equal(seen, ALL_PROVIDERS);
});

test('the lists of mailboxes and attachments of a new agent are empty; a request with an invalid page size or cursor gets 422, and for a missing agent 404', async () => {
  for (const list of ['integrations', 'mailboxes', 'attachments']) {
    const path = `${p.tenant}/agents/${agent}/${list}`;
    const answer = await p.send('GET', path);
    assert.is(answer.status, 200);
    if (list !== 'integrations') assert.equal(answer.body, []);
    assert.ok(answer.headers.get('projection-position'));
    for (const query of ['limit=0', 'limit=201', 'limit=x', 'cursor=x', 'other=1'])
      assert.is((await p.send('GET', `${path}?${query}`)).status, 422, `${list} ${query}`);
    assert.is((await p.send('GET', `${p.tenant}/agents/c${'0'.repeat(24)}/${list}`)).status, 404);
  }
});

afterLastTest(() => p.close());

test.run();
