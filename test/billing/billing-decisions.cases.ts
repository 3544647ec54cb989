import fc from 'fast-check';
import * as BillingRecord from '../../domain/billing/billing-record.ts';
import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import * as Seller from '../../domain/billing/seller.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { recordSubscription } from '../../domain/tenants/tenant-subscription.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { NOW, repeated } from '../fixtures/repeated-decisions.ts';

const tenantFields = { name: 'T', slug: 't', plan_id: 'p1', billing_email: null, generation: 0 };
const source = { event_id: fc.constantFrom('evt_1', 'evt_2'), event_type: fc.constant('updated'), created: fc.integer({ min: 1, max: 3 }) };

const budget = { agent_id: 'a', limit_micros: 100, at: NOW };
const amount = fc.integer({ min: 0, max: 60 });
const reservation = fc.constantFrom('r1', 'r2', 'r3').map((id) => BudgetHour.reservationId(`c${id.padStart(24, '0')}`, NOW));
const purpose = { session_id: fc.constantFrom('s1', null), model_id: fc.constant(null), costs: fc.constant([]) };
const expires_at = fc.constantFrom(NOW, '2026-01-01T00:10:00.000Z');

const decisions: AreaCases['decisions'] = [
  repeated(BillingRecord, [], {
    'billing/billing-record.ts startCheckout': fc
      .constantFrom('cs_1', 'cs_2')
      .map((session_id) => BillingRecord.startCheckout(session_id, 'price_1', 'p1')),
  }),
  repeated(BudgetHour, [], {
    'billing/budget-hour.ts reserve': fc
      .record({ reservation_id: reservation, amount_micros: amount, expires_at, ...purpose })
      .map((request) => BudgetHour.reserve(request, budget)),
    'billing/budget-hour.ts settle': fc.tuple(reservation, amount).map(([id, settled]) => BudgetHour.settle(id, settled, budget)),
    'billing/budget-hour.ts countUsage': fc
      .record({ session_id: fc.constantFrom('s1', 's2'), cost_micros: amount })
      .map((cost) => BudgetHour.countUsage([cost], budget, NOW)),
  }),
  repeated(Seller, [{ type: 'SellerOnboardingStarted', data: { payment_account_id: 'acct_1' } }], {
    'billing/seller.ts recordReport': fc
      .record({
        ...source,
        payment_account_id: fc.constant('acct_1'),
        connected: fc.boolean(),
        charges_enabled: fc.boolean(),
        payouts_enabled: fc.boolean(),
      })
      .map((report) => Seller.recordReport(report)),
  }),
  repeated(Tenant, [{ type: 'TenantCreated', data: tenantFields }], {
    'tenants/tenant-subscription.ts recordSubscription': fc
      .record({
        ...source,
        subscription_id: fc.constantFrom('sub_1', 'sub_2'),
        customer_id: fc.constant('cus_1'),
        status: fc.constantFrom('active', 'past_due', 'canceled'),
        price_id: fc.constant('price_1'),
        plan_id: fc.constantFrom('p1', 'p2'),
      })
      .map((report) => recordSubscription(report)),
  }),
];

export const cases: AreaCases = { decisions };
