import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const post = async (path: string, body: Json): Promise<string> => ((await p.send('POST', path, { body })).body as { id: string }).id;
const connect = (agent_id: string, label: string): Promise<string> =>
  post(`${p.tenant}/webhook-integrations`, { provider: 'github', agent_id, label });

const open = await connect(await post(`${p.tenant}/agents`, { name: 'Open', slug: 'open' }), 'label of the open one');
const secretAgent = await post(`${p.tenant}/agents`, { name: 'Closed', slug: 'closed', is_admin_only: true });
const closed = await connect(secretAgent, 'label of the closed one');
const position = (await p.send('GET', `${p.tenant}/webhook-integrations/${closed}`)).headers.get('consistency-token') ?? '';

const INTEGRATIONS = `${p.tenant}/webhook-integrations`;
/** Reads that name integrations. */
const READS: readonly string[] = [
  INTEGRATIONS,
  `${INTEGRATIONS}?provider=github`,
  `${INTEGRATIONS}?agent_id=${secretAgent}`,
  `${INTEGRATIONS}?sort=label&limit=1`,
  `${INTEGRATIONS}?sort=-label&limit=1`,
  `${INTEGRATIONS}/${closed}`,
  `${INTEGRATIONS}/${closed}?as_of=${position}`,
  `${INTEGRATIONS}/${closed}/guardrails`,
  `${INTEGRATIONS}/${closed}/deliveries`,
  `${p.tenant}/agents/${secretAgent}`,
  `${p.tenant}/agents/${secretAgent}/integrations`,
  `${p.tenant}/agents`,
  `${p.tenant}/autocomplete?q=label&types=integration`,
  `${p.tenant}/autocomplete?q=${closed}`,
];

test('a member sees no integration of an agent that is only for administrators; administrators and auditors see them', async () => {
  const read = async (path: string, key?: string) => p.send('GET', path, key === undefined ? {} : { key });
  const member = await addMember(p, 'MEMBER');
  for (const path of READS) {
    const { text, headers } = await read(path, member.key);
    assert.not.ok(text.includes('label of the closed one'), `${path}: ${text}`);
    assert.not.match(text.replaceAll(`"instance":"${path.split('?')[0]}"`, ''), new RegExp(`"id":"${closed}"`), path);
    assert.is.not(headers.get('total-count'), '2', path);
  }
  const shown = async (key?: string): Promise<string[]> =>
    ((await read(INTEGRATIONS, key)).body as { id: string }[]).map(({ id }) => id).toSorted();
  assert.equal(await shown(member.key), [open]);
  assert.is((await read(`${INTEGRATIONS}/${closed}`, member.key)).status, 404);
  assert.is((await read(`${INTEGRATIONS}/${open}`, member.key)).status, 200);
  for (const key of [undefined, (await addMember(p, 'ADMIN')).key, (await addMember(p, 'AUDITOR')).key])
    assert.equal(await shown(key), [open, closed].toSorted());
});

afterLastTest(() => p.close());

test.run();
