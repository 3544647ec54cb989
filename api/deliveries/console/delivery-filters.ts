import type { Rows } from '../../areas.ts';
import { valuesIn } from '../../console/parts/filter-form.ts';
import type { TimeRange } from '../../console/parts/time-range.ts';
import { timeRangeOf } from '../../console/parts/time-range.ts';
import type { Visit } from '../../console/visit.ts';
import type { Sent } from '../../http/ask.ts';

/** The filters of deliveries that the page passes to the API, besides the state and the period. */
export const FILTER_NAMES = [
  ...['event', 'integration_id', 'agent_id', 'reason', 'rule', 'problem'],
  ...['provider', 'provider_delivery_id', 'matched_secret', 'given_up_from'],
] as const;

type Query = Pick<Visit, 'query'>;
type DeliveryState = NonNullable<Sent<Rows['listTenantDeliveries']>['state']>;

/**
 * Returns the state that a page selects. Links of earlier versions name an outcome or a status instead. The API refuses
 * other texts than states.
 */
export const stateIn = ({ query }: Query): DeliveryState | null => {
  const [state, status, outcome] = ['state', 'status', 'outcome'].map((name) => query.get(name) || null);
  if (state || status) return (state ?? (status === 'done' ? 'acknowledged' : status)) as DeliveryState;
  return outcome === 'accepted' ? null : ((outcome ?? null) as DeliveryState | null);
};

/**
 * Returns the period of a page of deliveries. If the page searches by the provider's id, or a link has set a status or the time of giving
 * up, it covers all times.
 */
export const rangeOf = ({ query }: Query): TimeRange =>
  timeRangeOf(query, ['provider_delivery_id', 'status', 'given_up_from'].some((name) => query.get(name)) ? 'all' : '24h');

/** Returns the filters of a page without the state and the period. */
export const filtersIn = ({ query }: Query): Readonly<Record<string, string>> => {
  const isAccepted = query.get('outcome') === 'accepted' && stateIn({ query }) === null;
  return { ...valuesIn(query, FILTER_NAMES), ...(isAccepted && { outcome: 'accepted' }) };
};

/**
 * For each state whose deliveries can be sent again or released, the filters of the form that does it. Other deliveries continue by
 * themselves, or have no body.
 */
const SENT_BY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  acknowledged: { status: 'done' },
  dead: { outcome: 'dead' },
  blocked: { outcome: 'blocked' },
};

/** Returns the filters that select the deliveries of a state to be sent again; null if they cannot be. */
export const sentFilters = (state: string | null): Readonly<Record<string, string>> | null =>
  state === null ? {} : (SENT_BY[state] ?? null);
