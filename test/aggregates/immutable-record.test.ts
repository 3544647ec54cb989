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

test('the first change of an entry within a fold copies the record; later changes within the same fold modify that copy', () => {
  const original = { a: 1 };
  const transient: Transient = new WeakSet();
  const changed = withEntry(original, 'b', 2, transient);
  assert.equal([original, changed], [{ a: 1 }, { a: 1, b: 2 }]);
  assert.is(withEntry(changed, 'c', 3, transient), changed, 'a fold changes its own copy in place');
  assert.is(withoutEntry(changed, 'a', transient), changed);
  assert.equal(changed, { b: 2, c: 3 });
  assert.equal([withEntry(changed, 'd', 4), withoutEntry(changed, 'b'), changed], [{ b: 2, c: 3, d: 4 }, { c: 3 }, { b: 2, c: 3 }]);
});

const people = Array.from({ length: 3 }, (_, n) => `cperson${n}`);
const join = (user_id: string): Tenant.TenantEvent => ({ type: 'MemberAdded', data: { user_id, role: 'MEMBER' } });
const leave = (user_id: string): Tenant.TenantEvent => ({ type: 'MemberRemoved', data: { user_id } });

test('folding all events at once gives the same members and roles as folding them one by one, but copies the record of members only once', () => {
  const membership = recorded('tenant', [...people.map(join), leave(people[0]!), join(people[0]!)]);
  const stepByStep = membership.reduce((tenant, event) => Tenant.evolve(tenant, event), Tenant.initial);
  assert.equal(fold(Tenant, membership), stepByStep);
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
  const transient: Transient = new WeakSet();
  const first = Tenant.evolve(Tenant.initial, membership[0]!, transient);
  const last = membership.slice(1).reduce((tenant, event) => Tenant.evolve(tenant, event, transient), first);
  assert.is(last.members, first.members);
  assert.equal(Tenant.initial.members, {});
});

/**
 * Creates an aggregate that records the argument `transient` of each `evolve` call. In one fold, all calls must get the
 * same object.
 */
const spyAggregate = () => {
  const folds: (Transient | undefined)[] = [];
  const evolve = (sum: number, _: Recorded, transient?: Transient) => {
    folds.push(transient);
    return sum + 1;
  };
  return { folds, counting: { category: 'thing', initial: 0, evolve } };
};

test('loading an aggregate applies all its events in one fold', async () => {
  const { folds, counting } = spyAggregate();
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
