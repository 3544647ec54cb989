import type { ReplyOf } from '../../http/ask.ts';
import type { deliverySummaryOperations } from '../../webhooks/delivery-summary-operations.ts';
import { badge } from './badge.ts';
import { tags } from './tags.ts';

const { ul, li, a, strong } = tags;

export type Outcomes = ReplyOf<(typeof deliverySummaryOperations)['summarizeDeliveries']>['outcomes'];

export const OUTCOMES = ['accepted', 'blocked', 'rejected', 'dead'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const NO_OUTCOMES: Outcomes = { accepted: 0, blocked: 0, rejected: 0, dead: 0 };

/** Formats a number with separators between thousands. */
export const grouped = (count: number): string => count.toLocaleString('en-GB');

export const sumOf = (counts: Outcomes): number => OUTCOMES.reduce((sum, outcome) => sum + counts[outcome], 0);

/** Renders the number of deliveries of each outcome, each with a link to these deliveries. */
export const outcomeCounts = (counts: Outcomes, hrefOf: (outcome: Outcome) => string) =>
  ul(
    { class: 'counts', 'data-counts': '' },
    ...OUTCOMES.map((outcome) =>
      li({ 'data-outcome': outcome }, a({ href: hrefOf(outcome) }, strong(null, grouped(counts[outcome])), badge(outcome))),
    ),
  );
