import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import { fold } from '../../domain/aggregate.ts';
import type { Recorded } from '../../domain/event.ts';
import { type Transient, withEntry, withoutEntry } from '../../domain/immutable-record.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { openAggregateCache } from '../../infra/aggregates/aggregate-cache.ts';
import { emptyAggregate, foldFrom } from '../../infra/aggregates/fold-from.ts';
import { ACTOR, at, ID, recorded, TENANT } from '../fixtures/given.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

test('a record that was seen is never written into', () => {
  const seen = { a: 1 };
  const own: Transient = new WeakSet();
  const made = withEntry(seen, 'b', 2, own);
  assert.equal([seen, made], [{ a: 1 }, { a: 1, b: 2 }]);
  assert.is(withEntry(made, 'c', 3, own), made, 'what a fold has made itself is its own');
  assert.is(withoutEntry(made, 'a', own), made);
  assert.equal(made, { b: 2, c: 3 });
  assert.equal([withEntry(made, 'd', 4), withoutEntry(made, 'b'), made], [{ b: 2, c: 3, d: 4 }, { c: 3 }, { b: 2, c: 3 }]);
});

const people = Array.from({ length: 3 }, (_, n) => `cperson${n}`);
const join = (user_id: string): Tenant.TenantEvent => ({ type: 'MemberAdded', data: { user_id, role: 'MEMBER' } });
const leave = (user_id: string): Tenant.TenantEvent => ({ type: 'MemberRemoved', data: { user_id } });

test('members and roles are the same whether they are folded at once or one by one, and no fold copies them for each event', () => {
  const membership = recorded('tenant', [...people.map(join), leave(people[0]!), join(people[0]!)]);
  const one = membership.reduce((tenant, event) => Tenant.evolve(tenant, event), Tenant.initial);
  assert.equal(fold(Tenant, membership), one);
  const roles = recorded<Agent.AgentEvent>('agent', [
    ...people.map((user_id): Agent.AgentEvent => ({ type: 'AgentRoleAssigned', data: { user_id, role: 'VIEWER' } })),
    ...people.map((user_id): Agent.AgentEvent => ({ type: 'AgentAccessGranted', data: { user_id, role: 'EDITOR' } })),
    { type: 'AgentOwnershipTransferred', data: { new_owner_id: people[1]!, old_owner_ids: [people[0]!] } },
    { type: 'AgentRoleRevoked', data: { user_id: people[2]! } },
    { type: 'AgentAccessRevoked', data: { user_id: people[1]! } },
  ]);
  assert.equal(
    fold(Agent, roles),
    roles.reduce((agent, event) => Agent.evolve(agent, event), Agent.initial),
  );
  const own: Transient = new WeakSet();
  const first = Tenant.evolve(Tenant.initial, membership[0]!, own);
  const last = membership.slice(1).reduce((tenant, event) => Tenant.evolve(tenant, event, own), first);
  assert.is(last.members, first.members);
  assert.equal(Tenant.initial.members, {});
});

/** Notes with what each event was folded. */
const spying = () => {
  const folds: (Transient | undefined)[] = [];
  const evolve = (sum: number, _: Recorded, own?: Transient) => {
    folds.push(own);
    return sum + 1;
  };
  return { folds, counting: { category: 'thing', initial: 0, evolve } };
};

test('what is read from the log is one fold', async () => {
  const { folds, counting } = spying();
  const log = memoryLog();
  const actor = { kind: 'user', id: ACTOR } as const;
  const events = [0, 1, 2].map((n) => ({
    id: `00000000-0000-4000-8000-00000000000${n + 1}`,
    type: 'ThingHappened',
    data: {},
    meta: { tenant: TENANT, actor, at: at(n), v: 1 },
  }));
  await log.append(`thing-${TENANT}.${ID}`, 'none', events);
  assert.is((await openAggregateCache(log, []).load(counting, TENANT, ID)).state, 3);
  assert.ok(folds[0]);
  assert.is(new Set(folds.splice(0)).size, 1);
  const loaded = await foldFrom(counting, emptyAggregate(counting, ID), log.read(`thing-${TENANT}.${ID}`));
  assert.equal([loaded.state, loaded.revision, new Set(folds).size], [3, 2, 1]);
});

test.run();
