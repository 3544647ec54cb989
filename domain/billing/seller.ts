import type { Recorded } from '../event.ts';

/** The user's account at the payment provider, to which sales are paid out. */
export const category = 'seller';
export const platform = true;

/** The report of one event of the provider. `connected`: the onboarding is completed. `created`: of the event, in Unix seconds. */
export type SellerReport = {
  readonly event_id: string;
  readonly event_type: string;
  readonly created: number;
  readonly payment_account_id: string;
  readonly connected: boolean;
  readonly charges_enabled: boolean;
  readonly payouts_enabled: boolean;
};

type SellerStatus = Pick<SellerReport, 'connected' | 'charges_enabled' | 'payouts_enabled'>;

export type SellerEvent =
  | { type: 'SellerOnboardingStarted'; data: { payment_account_id: string } }
  | { type: 'PaymentEventRecorded'; data: SellerReport }
  | { type: 'SellerStatusChanged'; data: SellerStatus };

/** `newest` is null if there is no report about the account. */
export type Seller = SellerStatus & { readonly payment_account_id: string | null; readonly newest: SellerReport | null };

export const initial: Seller = {
  payment_account_id: null,
  connected: false,
  charges_enabled: false,
  payouts_enabled: false,
  newest: null,
};

export const evolve = (seller: Seller, { type, data }: Recorded<SellerEvent>): Seller => {
  switch (type) {
    case 'SellerOnboardingStarted':
      return { ...seller, payment_account_id: data.payment_account_id };
    case 'PaymentEventRecorded':
      return { ...seller, newest: data };
    case 'SellerStatusChanged':
      return { ...seller, ...data };
  }
};

export const startOnboarding = (payment_account_id: string) => (): SellerEvent[] => [
  { type: 'SellerOnboardingStarted', data: { payment_account_id } },
];

const enabled = ({ connected, charges_enabled, payouts_enabled }: SellerReport): number =>
  Number(connected) + Number(charges_enabled) + Number(payouts_enabled);

/**
 * Positive if `a` is later. The provider's times are whole seconds; at the same time, more capabilities are later, because the onboarding
 * adds them one after another.
 */
export const compareReports = (a: SellerReport, b: SellerReport): number =>
  a.created - b.created || enabled(a) - enabled(b) || Number(a.event_id > b.event_id) - Number(a.event_id < b.event_id);

export const isOfSeller = ({ payment_account_id }: Seller, report: SellerReport): boolean =>
  payment_account_id === report.payment_account_id;

/** Does nothing if the report is not newer than the newest one, or is about another account. */
export const recordReport =
  (report: SellerReport) =>
  (seller: Seller): SellerEvent[] => {
    if (!isOfSeller(seller, report) || (seller.newest && compareReports(report, seller.newest) <= 0)) return [];
    const { connected, charges_enabled, payouts_enabled } = report;
    const isChanged =
      connected !== seller.connected || charges_enabled !== seller.charges_enabled || payouts_enabled !== seller.payouts_enabled;
    return [
      { type: 'PaymentEventRecorded', data: report },
      ...(isChanged ? [{ type: 'SellerStatusChanged' as const, data: { connected, charges_enabled, payouts_enabled } }] : []),
    ];
  };
