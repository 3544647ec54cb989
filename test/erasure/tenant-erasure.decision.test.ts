import { test } from 'uvu';
import { equal, is } from 'uvu/assert';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { completeErasure, recordCounted, recordErased, recordKeyDestroyed, startErasure } from '../../domain/tenants/tenant-erasure.ts';
import { given } from '../fixtures/given.ts';

const fields = { name: 'Acme', slug: 'acme', plan_id: 'plan', billing_email: null, generation: 0 };
const created: Tenant.TenantEvent = { type: 'TenantCreated', data: fields };
const closed: Tenant.TenantEvent = { type: 'TenantClosed', data: {} };
const started: Tenant.TenantEvent = { type: 'TenantErasureStarted', data: { reason: 'asked for' } };
const destroyed: Tenant.TenantEvent = { type: 'TenantDataKeyDestroyed', data: { key_destroyed_at: '2026-02-01T00:00:00.000Z' } };
const countedTo = (counted_to: string): Tenant.TenantEvent => ({
  type: 'TenantEventsCounted',
  data: { streams: 1, events: 2, counted_to },
});
const erased: Tenant.TenantEvent = {
  type: 'TenantErased',
  data: { key_destroyed_at: '2026-02-01T00:00:00.000Z', streams: 3, events: 4, key_id: 'key' },
};
const completed: Tenant.TenantEvent = { type: 'TenantErasureCompleted', data: { blobs: 5, messages: 6 } };

/** The events of an erasure, each with the decision that records it. */
const STEPS = [
  { event: started, decide: startErasure('asked for') },
  { event: destroyed, decide: recordKeyDestroyed('2026-02-01T00:00:00.000Z') },
  { event: countedTo('9:9'), decide: recordCounted({ streams: 1, events: 2, counted_to: '9:9' }) },
  { event: erased, decide: recordErased({ streams: 3, events: 4 }, 'key') },
  { event: completed, decide: completeErasure({ blobs: 5, messages: 6 }) },
] as const;

for (const [index, { event, decide }] of STEPS.entries()) {
  const before = [created, closed, ...STEPS.slice(0, index).map((step) => step.event)];

  test(`${event.type} is recorded after the steps before it`, () =>
    given(Tenant, ...before)
      .when(decide)
      .emits(event));

  test(`${event.type} is recorded once only, also when later steps are done`, () => {
    for (let steps = index + 1; steps <= STEPS.length; steps++)
      given(Tenant, created, closed, ...STEPS.slice(0, steps).map((step) => step.event))
        .when(decide)
        .emits();
  });

  if (index > 0) test(`${event.type} is not recorded if no erasure has started`, () => given(Tenant, created, closed).when(decide).emits());
}

test('the erasure of a tenant that is not closed closes it', () =>
  given(Tenant, created).when(startErasure('asked for')).emits(started, closed));

test('a tenant that does not exist cannot be erased', () => given(Tenant).when(startErasure('asked for')).refuses('not_found'));

test('neither counts nor the result are recorded before the data key is destroyed', () => {
  for (const decide of [STEPS[2].decide, STEPS[3].decide, STEPS[4].decide]) given(Tenant, created, closed, started).when(decide).emits();
});

test('counts are recorded only if they reach further than those that are recorded', () => {
  const progress = (counted_to: string) => recordCounted({ streams: 1, events: 2, counted_to });
  const counted = given(Tenant, created, closed, started, destroyed, countedTo('9:9'));
  counted.when(progress('8:8')).emits();
  counted.when(progress('10:10')).emits(countedTo('10:10'));
});

test('the state keeps what each step of the erasure has recorded', () => {
  const { erasure } = given(Tenant, created, closed, ...STEPS.map(({ event }) => event)).state;
  equal(erasure?.counted, { streams: 1, events: 2, counted_to: '9:9' });
  is(erasure?.key?.at, '2026-02-01T00:00:00.000Z');
  is(erasure?.record?.events, 4);
  is(erasure?.is_completed, true);
});

test.run();
