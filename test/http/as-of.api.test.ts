import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';

const bodyOf = <T = Record<string, unknown>>({ body }: Answer): T => body as T;
const tokenOf = ({ headers }: Answer): string => headers.get('consistency-token')!;

const change = fc.record(
  {
    name: fc.constantFrom('One', 'Two', 'Three'),
    description: fc.option(fc.constantFrom('a', 'b')),
    is_active: fc.boolean(),
    can_author_skills: fc.boolean(),
    voice: fc.option(fc.constantFrom('alto', 'bass')),
  },
  { requiredKeys: [] },
);

test('reading an agent as of the Consistency-Token of a response returns the agent in that response; reading it as of now returns the present agent', async () => {
  const p = await createTestPlatform();
  let number = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 6 }), async (changes) => {
      const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: `agent-${number++}` } });
      const path = `${p.tenant}/agents/${bodyOf(created).id}`;
      const answers = [created];
      for (const body of changes) answers.push(await p.send('PATCH', path, { body }));
      for (const answer of answers) {
        const then = await p.send('GET', `${path}?as_of=${tokenOf(answer)}`);
        assert.equal(bodyOf(then), bodyOf(answer));
        assert.is(then.headers.get('etag'), answer.headers.get('etag'));
        assert.is(then.headers.get('projection-position'), tokenOf(answer));
      }
      const last = { 'consistency-token': tokenOf(answers.at(-1)!) };
      const now = await p.send('GET', `${path}?as_of=${new Date(Date.now() + 1_000).toISOString()}`, { headers: last });
      assert.equal(now.body, (await p.send('GET', path, { headers: last })).body);
    }),
    { numRuns: 25 },
  );
  await p.close();
});

test('a list of agents as of a time contains the agents that existed then, including those that have been deleted since', async () => {
  const p = await createTestPlatform();
  const start = Date.now();
  const at = (seconds: number) => new Date(start + seconds * 1_000).toISOString();
  const later = (seconds: number) => {
    p.clock.now = () => start + seconds * 1_000;
  };
  later(10);
  const first = bodyOf<{ id: string }>(await p.send('POST', `${p.tenant}/agents`, { body: { name: 'First', slug: 'first' } })).id;
  later(20);
  const second = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Second', slug: 'second' } });
  later(30);
  await p.send('PATCH', `${p.tenant}/agents/${first}`, { body: { name: 'Renamed' } });
  later(40);
  const deleted = await p.send('DELETE', `${p.tenant}/agents/${first}`);
  const headers = { 'consistency-token': tokenOf(deleted) };
  const names = async (seconds: number) =>
    bodyOf<{ name: string }[]>(await p.send('GET', `${p.tenant}/agents?as_of=${at(seconds)}`, { headers })).map(({ name }) => name);
  assert.equal(
    [await names(5), await names(15), await names(25), await names(35), await names(45)],
    [[], ['First'], ['Second', 'First'], ['Second', 'Renamed'], ['Second']],
  );
  assert.is((await p.send('GET', `${p.tenant}/agents/${first}?as_of=${at(35)}`, { headers })).status, 200);
  assert.is((await p.send('GET', `${p.tenant}/agents/${first}?as_of=${at(35).toLowerCase()}`, { headers })).status, 200);
  assert.is((await p.send('GET', `${p.tenant}/agents/${first}?as_of=${at(5)}`, { headers })).status, 404);
  assert.is((await p.send('GET', `${p.tenant}/agents?as_of=${at(5)}&q=x`)).status, 422);
  assert.is((await p.send('GET', `${p.tenant}/agents?as_of=yesterday`)).status, 422);
  assert.is(second.status, 201);
  await p.close();
});

test('an as-of read or diff with a position beyond the end of the log is refused; a position that only the projection has not reached yet is accepted', async () => {
  const p = await createTestPlatform();
  const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } });
  const path = `${p.tenant}/agents/${bodyOf(created).id}`;
  await p.waitForProjections();
  p.projectionDelay.ms = 300;
  const end = tokenOf(await p.send('PATCH', path, { body: { name: 'Better' } }));
  for (const one of [path, p.tenant, `${p.tenant}/agents`, `${p.tenant}/members`]) {
    const answer = await p.send('GET', `${one}?as_of=${end}`);
    assert.equal([answer.status, answer.headers.get('projection-position')], [200, end], one);
    for (const beyond of ['99999999999:99999999999', '9223372036854775807:9223372036854775807', '9223372036854775808:0']) {
      const { status, body } = await p.send('GET', `${one}?as_of=${beyond}`);
      const [error] = (body as { errors: { pointer: string; code: string }[] }).errors;
      assert.equal([status, error!.pointer, error!.code], [422, '/query/as_of', 'beyond_log'], one);
    }
  }
  assert.is((await p.send('GET', `${path}/diff?from=0:0&to=99999999999:0`)).status, 422);
  await p.close();
});

test('a diff is refused if its end is in the future, or if its start is after its end', async () => {
  const p = await createTestPlatform();
  const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } });
  const path = `${p.tenant}/agents/${bodyOf(created).id}/diff`;
  const changed = tokenOf(await p.send('PATCH', `${p.tenant}/agents/${bodyOf(created).id}`, { body: { name: 'Better' } }));
  await p.waitForProjections();
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
  const refused: [string, string, string][] = [
    [`from=${ago(-3_600)}`, '/query/from', 'in_future'],
    [`from=${ago(10)}&to=${ago(-3_600)}`, '/query/to', 'in_future'],
    [`from=${ago(10)}&to=${ago(20)}`, '/query/from', 'after_to'],
    [`from=${changed}&to=${tokenOf(created)}`, '/query/from', 'after_to'],
    [`from=${changed}&to=${ago(3_600)}`, '/query/from', 'after_to'],
  ];
  for (const [query, pointer, code] of refused) {
    const { status, body } = await p.send('GET', `${path}?${query}`);
    const [error] = (body as { errors: { pointer: string; code: string }[] }).errors;
    assert.equal([status, error!.pointer, error!.code], [422, pointer, code], query);
  }
  await p.send('PATCH', p.tenant, { body: { name: 'Changed after the agent' } });
  await p.waitForProjections();
  for (const query of [`from=${ago(0)}`, `from=${ago(-1)}`, `from=${ago(20)}&to=${ago(20)}`, `from=${changed}&to=${changed}`]) {
    const { status, body } = await p.send('GET', `${path}?${query}`);
    assert.equal([status, (body as { changes?: unknown }).changes], [200, []], query);
  }
  await p.close();
});

test('restoring a revision of an agent restores its settings and model chain, but not its roles and grants', async () => {
  const p = await createTestPlatform();
  const models = bodyOf<{ id: string }[]>(await p.send('GET', `${p.tenant}/models`)).map(({ id }) => id);
  const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent', voice: 'alto' } });
  const path = `${p.tenant}/agents/${bodyOf(created).id}`;
  await p.send('PUT', `${path}/models`, { body: { model_ids: models } });
  const then = await p.send('GET', path);
  await p.send('PUT', `${path}/models`, { body: { model_ids: [models[0]] } });
  await p.send('PATCH', path, {
    body: { name: 'Other', voice: null, can_author_skills: true, is_active: false, ssh_public_key: 'ssh-ed25519 A' },
  });
  const restored = await p.send('POST', `${path}/restore`, { body: { revision: 1 } });
  const stored = { can_author_skills: true, is_active: false, ssh_public_key: 'ssh-ed25519 A', updated_at: bodyOf(restored).updated_at };
  assert.equal(bodyOf(restored), { ...bodyOf(then), ...stored });
  const headers = { 'consistency-token': tokenOf(restored) };
  assert.equal((await p.send('GET', path, { headers })).body, restored.body);
  const chain = bodyOf<{ model_id: string }[]>(await p.send('GET', `${path}/models`, { headers }));
  assert.equal(
    chain.map(({ model_id }) => model_id),
    models,
  );
  assert.is((await p.send('POST', `${path}/restore`, { body: { revision: 99 } })).status, 422);
  await p.close();
});

test('restoring a deleted agent succeeds unless another agent was created with its slug in the meantime', async () => {
  const p = await createTestPlatform();
  const create = () => p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } });
  const path = `${p.tenant}/agents/${bodyOf(await create()).id}`;
  await p.send('DELETE', path);
  const back = await p.send('POST', `${path}/restore`, { body: {} });
  assert.is(back.status, 200, back.text);
  assert.is((await p.send('GET', path, { headers: { 'consistency-token': tokenOf(back) } })).status, 200);
  assert.is((await p.send('GET', `${p.tenant}/agents`)).headers.get('total-count'), '1');
  await p.send('DELETE', path);
  assert.is((await create()).status, 201);
  assert.is((await p.send('POST', `${path}/restore`, { body: {} })).status, 409);
  await p.close();
});

test('the history of an agent lists each change with its actor; a diff lists the changes between two positions', async () => {
  const p = await createTestPlatform();
  const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } });
  const path = `${p.tenant}/agents/${bodyOf(created).id}`;
  const renamed = await p.send('PATCH', path, { body: { name: 'Better', voice: 'alto' } });
  const [last, first] = bodyOf<{ type: string; actor: { kind: string }; changes: unknown[]; revision: number }[]>(
    await p.send('GET', `${path}/history`),
  );
  assert.equal([last!.type, last!.actor.kind, last!.revision, first!.type], ['AgentUpdated', 'user', 1, 'AgentCreated']);
  const changes = [
    { pointer: '/name', from: 'Agent', to: 'Better' },
    { pointer: '/voice', from: null, to: 'alto' },
  ];
  assert.equal(last!.changes, changes);
  const diff = bodyOf<{ changes: { pointer: string }[] }>(
    await p.send('GET', `${path}/diff?from=${tokenOf(created)}&to=${tokenOf(renamed)}`),
  );
  assert.equal(
    diff.changes.filter(({ pointer }) => pointer !== '/updated_at'),
    changes,
  );
  assert.is((await p.send('GET', `${p.tenant}/agents/c${'0'.repeat(24)}/history`)).status, 404);
  await p.close();
});

test('a diff up to a time contains all changes that the caller made until then, even if the projections lag', async () => {
  const p = await createTestPlatform();
  const start = Date.now();
  const later = (seconds: number) => {
    p.clock.now = () => start + seconds * 1_000;
  };
  const time = (seconds: number) => new Date(start + seconds * 1_000).toISOString();
  later(10);
  const path = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).headers.get('location')!;
  await p.waitForProjections();
  p.projectionDelay.ms = 25;
  later(20);
  const renamed = await p.send('PATCH', path, { body: { name: 'Better' } });
  const diff = (headers = {}) => p.send('GET', `${path}/diff?from=${time(15)}&to=${time(25)}`, { headers });
  const own = bodyOf<{ to: string; changes: { pointer: string }[] }>(await diff());
  assert.equal([own.to, own.changes.map(({ pointer }) => pointer)], [tokenOf(renamed), ['/name', '/updated_at']]);
  p.projectionDelay.ms = 300;
  later(24);
  const again = await p.send('PATCH', path, { body: { name: 'Best' } });
  const headers = { 'consistency-token': tokenOf(again) };
  assert.is(bodyOf<{ to: string }>(await diff(headers)).to, tokenOf(again));
  await p.close();
});

test.run();
