import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createSkillPlatform } from '../fixtures/skill-platform.ts';

type Json = Record<string, unknown>;

const { p, expose, call } = await createSkillPlatform();

test('the first 100 calls without the right token are listed one by one, the others as one item with their number', async () => {
  const { hook, path } = await expose();
  await Promise.all(Array.from({ length: 107 }, () => call(hook, 'wrong')));
  await p.recordPending();
  const listed = JSON.parse((await p.send('GET', `${path}/invocations?limit=200`)).text) as Json[];
  const [counted, ...others] = listed.filter(({ reason }) => reason === 'counted');
  const { at, first_at, ...rest } = omit(counted!, 'id', 'skill_id', 'agent_id');
  assert.equal(rest, { caller: { ip: '127.0.0.1', user_agent: null }, outcome: 'rejected', reason: 'counted', count: 7 });
  assert.equal([listed.length, others.length, (first_at as string) <= (at as string)], [101, 0, true]);
});

test('after these tests, the projections have applied every event, and no event is parked', () => assert.equal(p.unappliedEvents(), []));

afterLastTest(() => p.close());

test.run();
