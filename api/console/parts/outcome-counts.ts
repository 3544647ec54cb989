import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { badge } from './badge.ts';
import { countText } from './count-text.ts';
import { tags } from './tags.ts';

const { ul, li, a, strong } = tags;

export type Outcomes = ReplyOf<Rows['summarizeDeliveries']>['outcomes'];

export const OUTCOMES = ['accepted', 'blocked', 'rejected', 'dead'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const NO_OUTCOMES: Outcomes = { accepted: 0, blocked: 0, rejected: 0, dead: 0 };

export const sumOf = (counts: Outcomes): number => OUTCOMES.reduce((sum, outcome) => sum + counts[outcome], 0);

/** Renders the number of deliveries for each outcome, with a link to these deliveries. */
export const outcomeCounts = (counts: Outcomes, hrefOf: (outcome: Outcome) => string) =>
  ul(
    { class: 'counts', 'data-counts': '' },
    ...OUTCOMES.map((outcome) =>
      li({ 'data-outcome': outcome }, a({ href: hrefOf(outcome) }, strong(null, countText(counts[outcome])), badge(outcome))),
    ),
  );
