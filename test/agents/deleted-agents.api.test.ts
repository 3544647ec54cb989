import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { addMember } from '../fixtures/users.ts';

const p = await startConsole();
afterLastTest(p.close);
const [desk, garden, lab] = [await createAgent(p, 'Returns Desk'), await createAgent(p, 'Docs Garden'), await createAgent(p, 'Lab')];
const member = await addMember(p, 'MEMBER');
await p.send('PUT', `${p.tenant}/agents/${desk}/roles/${member.user_id}`, { body: { role: 'MANAGER' } });
for (const agent of [desk, lab]) assert.is((await p.send('DELETE', `${p.tenant}/agents/${agent}`)).status, 204);
await p.waitForProjections();

const list = async (query: string, key?: string): Promise<string[]> =>
  ((await p.send('GET', `${p.tenant}/agents${query}`, key === undefined ? {} : { key })).body as { id: string }[]).map(({ id }) => id);

test('the list of deleted agents can be searched by name; a member sees only those on which they had a role', async () => {
  assert.equal((await list('?deleted=true')).toSorted(), [desk, lab].toSorted());
  assert.equal(await list('?deleted=true&q=returns'), [desk]);
  assert.ok(!(await list('?deleted=false')).includes(desk));
  assert.ok(!(await list('')).includes(desk));
  assert.equal(await list('?deleted=true', member.key), [desk]);
});

test('a deleted agent is found in the list of the console, and restored on its page', async () => {
  const all = (await p.open(`${p.base}/agents`)).text;
  const [, href] = /href="([^"]*deleted=true[^"]*)"/.exec(all)!;
  const found = (await p.open(href!.replaceAll('&amp;', '&'))).text;
  assert.match(found, new RegExp(`href="${p.base}/agents/${desk}"`));
  assert.not.match(found, new RegExp(`href="${p.base}/agents/${garden}"`));
  const page = (await p.open(`${p.base}/agents/${desk}`)).text;
  assert.match(page, /restoreAgent/);
  const fields = { ':tenant_id': p.tenant_id, ':agent_id': desk, _key: crypto.randomUUID() };
  assert.is((await p.submit('/console/run/restoreAgent', fields, OWN_PAGE)).status, 303);
  await p.waitForProjections();
  assert.equal(await list('?deleted=true'), [lab]);
});

test.run();
