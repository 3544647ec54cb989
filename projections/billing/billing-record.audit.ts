import type { BillingEvent } from '../../domain/billing/billing-record.ts';
import type { AuditOf } from '../audit-record.ts';

export const billingRecordAudit = {
  CheckoutStarted: { summary: 'started a checkout of the price {price_id}', activity: 'other' },
  BillingPortalOpened: { summary: 'opened the billing portal of the payment provider', activity: 'create' },
} satisfies AuditOf<BillingEvent>;
