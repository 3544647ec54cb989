import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { barChart } from './chart.ts';
import { moduleScript } from './module-script.ts';
import { OUTCOMES } from './outcome-counts.ts';
import { element, tags } from './tags.ts';
import { minuteText } from './time.ts';

type Summary = ReplyOf<Rows['summarizeDeliveries']>;

const TONES = { accepted: 'good', blocked: 'warn', rejected: 'bad', dead: 'dead' } as const;

/**
 * Renders a chart of the number of deliveries over time, by outcome. A bar links to its deliveries. Dragging over the
 * chart selects a time range.
 */
export const deliveryChart = (
  { buckets }: Summary,
  { title, zone, endText }: { readonly title: string; readonly zone: string; readonly endText?: string | undefined },
  hrefOf: (from: string, to: string) => string,
) => {
  const [first, last] = [buckets[0], buckets.at(-1)];
  if (!first || !last) return null;
  const chart = barChart({
    id: 'deliveries',
    title,
    ...(endText !== undefined && { endText }),
    series: OUTCOMES.map((outcome) => ({ label: outcome, tone: TONES[outcome] })),
    buckets: buckets.map(({ from, to, outcomes }) => ({
      label: minuteText(from, zone),
      values: OUTCOMES.map((outcome) => outcomes[outcome]),
      href: hrefOf(from, to),
    })),
  });
  return tags.div(
    { class: 'card chart-card' },
    element('chart-brush', { 'data-from': first.from, 'data-to': last.to }, chart),
    moduleScript('chart-brush.mjs'),
  );
};
