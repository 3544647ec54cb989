import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createCronJob, createIntegration, deliver, findDelivery, startConsole } from '../fixtures/console-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Entry = {
  readonly id: string;
  readonly action: string;
  readonly created_at: string;
  readonly actor: { readonly kind: string };
  readonly resource_id: string;
  readonly sentence: readonly { readonly text: string; readonly kind: string | null; readonly id: string | null }[];
  readonly run: { readonly count: number; readonly first_at: string } | null;
  readonly subjects: readonly { readonly kind: string; readonly id: string; readonly name: string | null }[];
};

const p = await startConsole();
const [first, second, third] = await Promise.all(
  ['first', 'second', 'third'].map((name) => addMember(p, 'MEMBER', p.tenant_id, `${name}@example.com`)),
);
const agent = await createAgent(p, 'Desk');
const send = async (method: string, path: string, body?: unknown): Promise<unknown> => {
  const answer = await p.send(method, `${p.tenant}${path}`, body === undefined ? {} : { body });
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
  return answer.body;
};
const read = async (query: string) => {
  await p.waitForProjections();
  const answer = await p.send('GET', `${p.tenant}/audit-logs?limit=200&${query}`);
  assert.is(answer.status, 200, answer.text);
  return { entries: answer.body as Entry[], hidden: answer.headers.get('hidden-count') };
};
const actions = async (query: string): Promise<string[]> => (await read(query)).entries.map(({ action }) => action);
const textOf = ({ sentence }: Entry): string => sentence.map(({ text }) => text).join('');

test('the filter `about` with a user finds transfers of an agent for each of its earlier owners', async () => {
  for (const { user_id } of [first!, second!]) await send('PUT', `/agents/${agent}/roles/${user_id}`, { role: 'OWNER' });
  await send('POST', `/agents/${agent}/transfer-ownership`, { new_owner_id: third!.user_id });
  for (const { user_id } of [first!, second!, third!])
    assert.ok((await actions(`about=${user_id}`)).includes('agent.ownership_transferred'), user_id);
});

test('the filter `about` with an agent finds the copies that were made of it, and no entries of other agents', async () => {
  const other = await createAgent(p, 'Other');
  const copied = await p.send('POST', `/agents/${agent}/clone`, { body: { name: 'Copy' } });
  assert.is(copied.status, 201, copied.text);
  const found = await actions(`about=${agent}`);
  assert.equal([found.includes('agent.cloned'), found.includes('agent.created')], [true, true]);
  assert.not.ok((await read(`about=${agent}`)).entries.some(({ resource_id }) => resource_id === other));
  assert.equal(await actions(`about=${other}`), ['agent.created']);
});

test('the filter `about` finds the runs of a job, the deliveries of an integration, and the uses of a key', async () => {
  const job = await createCronJob(p, agent);
  await send('POST', `/agents/${agent}/cron-jobs/${job}/run-now`);
  assert.ok((await actions(`about=${job}`)).includes('cron.run_requested'));
  const integration = await createIntegration(p, agent);
  await deliver(p, integration, 'push', { zen: 'Design for failure.' });
  const delivery = await findDelivery(p, 'accepted');
  await send('POST', `/agents/${agent}/sessions`, { title: 'Review', delivery_id: delivery });
  assert.equal((await actions(`about=${delivery}`)).sort(), ['session.started', 'webhook.accepted']);
  assert.equal((await actions(`about=${integration}`)).sort(), ['integration.connected', 'webhook.accepted']);
  assert.equal(await actions(`about=${first!.key_id}`), ['api_key.created']);
  assert.ok((await actions(`about=${first!.user_id}`)).includes('api_key.created'));
});

test('the filter `by` selects by actor, `category` by subject; the number of entries that `by` hides is exact', async () => {
  const all = (await read('')).entries;
  for (const [by, kind] of [
    ['people', 'user'],
    ['runners', 'agent'],
    ['platform', 'system'],
  ] as const) {
    const { entries, hidden } = await read(`by=${by}`);
    const expected = all.filter(({ actor }) => actor.kind === kind);
    assert.equal(entries, expected, by);
    assert.is(Number(hidden), expected.length === 0 ? all.length : all.length - expected.length, by);
  }
  const access = await actions('category=access');
  assert.ok(access.includes('agent.role_assigned') && !access.includes('agent.created'));
  assert.is((await read('category=access')).hidden, null);
});

test('`collapse` shows consecutive entries with equal sentences as one, with their number and the time of the first', async () => {
  for (const is_active of [false, true]) await send('PATCH', `/agents/${agent}`, { is_active });
  for (const voice of ['a', 'b', 'c']) await send('PATCH', `/agents/${agent}`, { voice });
  const single = (await read(`action=agent.updated&resource_id=${agent}`)).entries;
  const [run, ...others] = (await read(`action=agent.updated&resource_id=${agent}&collapse=true`)).entries;
  assert.equal([single.length, run!.id, run!.run!.count, others], [3, single[0]!.id, 3, []]);
  assert.match(textOf(run!), /changed voice of the agent Desk$/);
  assert.ok(single.every((entry) => entry.run === null));
});

for (const sort of ['-created_at', 'created_at'])
  test(`with sort=${sort}, the pages count each entry that \`by\` hides once; a collapsed entry is the newest one`, async () => {
    const { entries: all, hidden } = await read(`by=people&sort=${sort}`);
    const ids: string[] = [];
    const counts: number[] = [];
    for (let path: string | null = `${p.tenant}/audit-logs?by=people&limit=2&sort=${sort}`; path !== null; ) {
      const answer: Awaited<ReturnType<typeof p.send>> = await p.send('GET', path);
      ids.push(...(answer.body as Entry[]).map(({ id }) => id));
      counts.push(Number(answer.headers.get('hidden-count')));
      path = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1] ?? null;
    }
    assert.equal(
      ids,
      all.map(({ id }) => id),
    );
    assert.ok(counts.length > 3 && Number(hidden) > 0);
    assert.is(
      counts.reduce((sum, count) => sum + count, 0),
      Number(hidden),
      `counts per page: ${counts}`,
    );
    for (const voice of ['x', 'y', 'z']) await send('PATCH', `/agents/${agent}`, { voice });
    const single = (await read(`action=agent.updated&resource_id=${agent}&sort=${sort}`)).entries;
    const times = single.map(({ created_at }) => created_at).sort();
    const collapsed = (await read(`action=agent.updated&resource_id=${agent}&sort=${sort}&collapse=true`)).entries;
    assert.equal(
      collapsed.map(({ created_at, run }) => [created_at, run]),
      [[times.at(-1), { count: times.length, first_at: times[0] }]],
    );
  });

test('the facets count the entries of each action, with its words and category, and of each actor, with the name', async () => {
  await p.waitForProjections();
  const facets = (await send('GET', '/audit-logs/facets')) as {
    actions: { action: string; words: string; category: string | null; count: number }[];
    actors: { kind: string; name: string | null; count: number }[];
    counted: number;
  };
  const all = (await read('')).entries;
  const assigned = facets.actions.find(({ action }) => action === 'agent.role_assigned');
  const count = all.filter(({ action }) => action === 'agent.role_assigned').length;
  assert.equal(assigned, { action: 'agent.role_assigned', words: 'gave a person a role on an agent', category: 'access', count });
  assert.is(facets.counted, all.length);
  assert.is(
    facets.actors.reduce((sum, actor) => sum + actor.count, 0),
    all.length,
  );
  assert.ok(facets.actors.some(({ kind, name }) => kind === 'user' && name !== null));
  const inOrder = facets.actions.toSorted((one, other) => other.count - one.count || (one.action < other.action ? -1 : 1));
  assert.equal(facets.actions, inOrder, 'equal counts are in the order of the actions');
});

afterLastTest(() => p.close());

test.run();
