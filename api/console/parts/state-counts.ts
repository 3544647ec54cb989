import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { badge } from './badge.ts';
import { countText } from './count-text.ts';
import { filterTabs } from './filters.ts';
import { type Child, tags } from './tags.ts';

const { span } = tags;

type Summary = ReplyOf<Rows['summarizeDeliveries']>;
type State = keyof NonNullable<Summary['states']>;

/** The states in the order in which they are shown: first those of deliveries in progress, then those that have ended. */
const ORDER: readonly State[] = [
  ...(['acknowledged', 'waiting', 'queued', 'running', 'retrying', 'held'] as const),
  ...(['dead', 'blocked', 'rejected'] as const),
];
/** The states that are shown even if no delivery has them. */
const ALWAYS: readonly State[] = ['acknowledged', 'dead', 'blocked', 'rejected'];

const count = (state: string, number: number): Child => span({ class: 'count', 'data-count': state }, countText(number));

/** Renders how many deliveries have each state, as links to these deliveries. */
export const stateCounts = ({ states }: Summary, current: string | null, hrefOf: (state: State | null) => string): Child => {
  if (states === null) return null;
  const shown = ORDER.filter((state) => states[state] > 0 || state === current || ALWAYS.includes(state));
  const all = ORDER.reduce((sum, state) => sum + states[state], 0);
  return filterTabs('Filter by state', current, [
    { value: null, label: span(null, 'All', count('all', all)), href: hrefOf(null) },
    ...shown.map((state) => ({ value: state, label: span(null, badge(state), count(state, states[state])), href: hrefOf(state) })),
  ]);
};
