// share
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Seller from '../../domain/billing/seller.ts';
import {
  compareReports as compareSellerReports,
  initial as initialSeller,
  recordReport,
  type SellerReport,
} from '../../domain/billing/seller.ts';
import { SUBSCRIPTION_STATUSES, type SubscriptionReport } from '../../domain/billing/subscription.ts';
import type { Recorded } from '../../domain/event.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { recordSubscription } from '../../domain/tenants/tenant-subscription.ts';
import { openShare } from '../fixtures/share.ts';

const recorded = <E extends { type: string; data: object }>(event: E) =>
  ({ ...event, at: '2026-01-01T00:00:00.000Z' }) as unknown as Recorded<E>;

const created: Tenant.Tenant = { ...Tenant.initial, status: 'active', plan_id: 'free' };

/** Applies the payment provider's reports in this order. The returned `events` are the types of the appended events. */
const after = (reports: readonly SubscriptionReport[], from = created) => {
  let tenant = from;
  const events: string[] = [];
  for (const report of reports)
    for (const event of recordSubscription(report)(tenant)) {
      events.push(event.type);
      tenant = Tenant.evolve(tenant, recorded(event));
    }
  return { tenant, events, visible: { plan_id: tenant.plan_id, plan_status: tenant.plan_status } };
};

const report = (status: SubscriptionReport['status'], created: number, more: Partial<SubscriptionReport> = {}): SubscriptionReport => ({
  event_id: `evt_${status}_${created}`,
  event_type: 'customer.subscription.updated',
  created,
  subscription_id: 'sub_1',
  customer_id: 'cus_1',
  status,
  price_id: 'price_1',
  plan_id: 'team',
  ...more,
});

const permutations = <T>(items: readonly T[]): T[][] =>
  items.length < 2 ? [[...items]] : items.flatMap((one, index) => permutations(items.toSpliced(index, 1)).map((rest) => [one, ...rest]));

const STATUS_OF = [
  ['trialing', 'trialing'],
  ['active', 'active'],
  ['past_due', 'past_due'],
  ['unpaid', 'canceled'],
  ['paused', 'canceled'],
  ['canceled', 'canceled'],
] as const;

for (const [status, plan_status] of STATUS_OF)
  test(`a subscription whose status is ${status} gives the plan the status ${plan_status}`, () => {
    const other = plan_status === 'active' ? 'past_due' : 'active';
    assert.is(after([report(status, 1)], { ...created, plan_status: other }).tenant.plan_status, plan_status);
  });

test("as long as a subscription's first payment has not succeeded, neither the plan nor its status changes", () => {
  assert.equal(after([report('incomplete', 1)]).events, ['PaymentEventRecorded']);
  assert.equal(after([report('incomplete', 1), report('incomplete_expired', 2)]).visible, { plan_id: 'free', plan_status: 'trialing' });
});

test('the plan gets the status in the latest event of a subscription, whatever the order in which the events arrive', () => {
  const life = (['incomplete', 'trialing', 'active', 'past_due', 'canceled'] as const).map((status, at) => report(status, at));
  for (let length = 1; length <= life.length; length++) {
    const expected = after(life.slice(0, length)).visible;
    for (const order of permutations(life.slice(0, length)))
      assert.equal(after(order).visible, expected, order.map((one) => one.status).join());
  }
});

test('an event of a subscription that arrives a second time appends nothing', () => {
  const { tenant } = after([report('active', 5)]);
  assert.equal(recordSubscription(report('active', 5))(tenant), []);
  assert.equal(recordSubscription(report('past_due', 4))(tenant), [], 'and neither does an older one');
});

test('an event that is newer but changes nothing visible is recorded, so that an older event that arrives afterwards has no effect', () => {
  const { tenant, events } = after([report('active', 10), report('active', 20)]);
  assert.equal(events.slice(-1), ['PaymentEventRecorded']);
  assert.equal(recordSubscription(report('past_due', 15))(tenant), []);
});

test('if two events of a subscription have the same second, the one with the later state has the effect, whichever arrives first', () => {
  const pair = [report('incomplete', 7), report('active', 7)];
  assert.is(after(pair).tenant.plan_status, 'active');
  assert.is(after(pair.toReversed()).tenant.plan_status, 'active');
});

test('if a newer subscription pays for the plan, canceling an older one keeps the plan', () => {
  const newer = { subscription_id: 'sub_2', plan_id: 'pro', price_id: 'price_2' };
  const { visible } = after([report('active', 1), report('active', 2, newer), report('canceled', 3)]);
  assert.equal(visible, { plan_id: 'pro', plan_status: 'active' });
});

test('an upgrade changes the plan; a plan that an operator has set stays until the price of the subscription changes', () => {
  const upgraded = after([report('active', 1), report('active', 2, { price_id: 'price_2', plan_id: 'pro' })]);
  assert.is(upgraded.tenant.plan_id, 'pro');
  const renewed = after([report('active', 3, { price_id: 'price_2', plan_id: 'pro' })], { ...upgraded.tenant, plan_id: 'special' });
  assert.is(renewed.tenant.plan_id, 'special');
});

const EFFECTIVE = SUBSCRIPTION_STATUSES.filter((status) => !status.startsWith('incomplete'));
const reportOf = (subscription_id: string, created: fc.Arbitrary<number>, status: fc.Arbitrary<SubscriptionReport['status']>) =>
  fc.record({
    event_id: fc.uuid().map((id) => `evt_${id}`),
    event_type: fc.constant('customer.subscription.updated'),
    created,
    subscription_id: fc.constant(subscription_id),
    customer_id: fc.constant('cus_1'),
    status,
    price_id: fc.constant('price_1'),
    plan_id: fc.constantFrom('team', 'pro'),
  });
/**
 * Generates reports about three subscriptions. Two of them may have any state; the first payment of the third one never
 * succeeds.
 */
const anyReport = fc.oneof(
  ...['sub_1', 'sub_2'].flatMap((id) => [
    reportOf(id, fc.constant(0), fc.constant('incomplete')),
    reportOf(id, fc.integer({ min: 0, max: 4 }), fc.constantFrom(...EFFECTIVE)),
  ]),
  reportOf('sub_3', fc.integer({ min: 0, max: 4 }), fc.constantFrom('incomplete', 'incomplete_expired')),
);
const historyAndOrder = fc
  .array(anyReport, { maxLength: 12 })
  .chain((reports) => fc.tuple(fc.constant(reports), fc.shuffledSubarray([...reports, ...reports], { minLength: reports.length * 2 })));

const share = openShare();

share.test("a tenant's plan does not depend on the order of the provider's events; a repeated one is recorded once", () => {
  fc.assert(
    fc.property(historyAndOrder, ([reports, shuffled]) => {
      const straight = after(reports);
      const { tenant, events } = after(shuffled);
      assert.equal([tenant.plan_status, tenant.plan_id], [straight.tenant.plan_status, straight.tenant.plan_id]);
      assert.equal(
        Object.values(tenant.subscriptions)
          .map(({ event_id }) => event_id)
          .sort(),
        Object.values(straight.tenant.subscriptions)
          .map(({ event_id }) => event_id)
          .sort(),
      );
      assert.ok(events.filter((type) => type === 'PaymentEventRecorded').length <= reports.length);
    }),
    share.runsOf(5_000),
  );
});

const anySellerReport = fc.record({
  event_id: fc.uuid(),
  event_type: fc.constant('account.updated'),
  created: fc.integer({ min: 0, max: 4 }),
  payment_account_id: fc.constantFrom('acct_1', 'acct_1', 'acct_other'),
  connected: fc.boolean(),
  charges_enabled: fc.boolean(),
  payouts_enabled: fc.boolean(),
});

const sellerAfter = (reports: readonly SellerReport[]): Seller.Seller => {
  let seller: Seller.Seller = { ...initialSeller, payment_account_id: 'acct_1' };
  for (const one of reports) for (const event of recordReport(one)(seller)) seller = Seller.evolve(seller, recorded(event));
  return seller;
};

share.test(
  'in random histories of a seller account, the final state of the account is that of its newest report, whatever the order in which the reports arrive',
  () => {
    fc.assert(
      fc.property(
        fc
          .array(anySellerReport, { maxLength: 8 })
          .chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
        ([reports, shuffled]) => {
          const newest = reports
            .filter((one) => one.payment_account_id === 'acct_1')
            .sort(compareSellerReports)
            .at(-1);
          const { connected, charges_enabled, payouts_enabled } = newest ?? initialSeller;
          for (const seller of [sellerAfter(reports), sellerAfter(shuffled)])
            assert.equal([seller.connected, seller.charges_enabled, seller.payouts_enabled], [connected, charges_enabled, payouts_enabled]);
        },
      ),
      share.runsOf(5_000),
    );
  },
);

test.run();
