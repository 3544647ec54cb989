import type { SellerEvent } from '../../domain/billing/seller.ts';
import type { AuditOf } from '../audit-record.ts';

export const sellerAudit = {
  SellerOnboardingStarted: { summary: 'started the onboarding as a seller', activity: 'other' },
  SellerStatusChanged: { summary: 'changed the status of a seller', activity: 'update' },
  PaymentEventRecorded: { summary: 'recorded the event {event_type} of the payment provider', activity: 'create' },
} satisfies AuditOf<SellerEvent>;
