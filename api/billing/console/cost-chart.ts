import type { Rows } from '../../areas.ts';
import { barChart, type ChartTone } from '../../console/parts/chart.ts';
import { usd } from '../../console/parts/money.ts';
import { dateOf, daysAfter } from '../../console/parts/period.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { div, p, strong } = tags;

type Breakdown = ReplyOf<Rows['readCostBreakdown']>;

/** The colours of the agents that cost the most, and of all others. */
const TONES: readonly ChartTone[] = ['accent', 'good', 'warn', 'busy', 'bad', 'calm'];

/** Returns the days from the start of a period to its end or, if it is earlier, to `last` (milliseconds since 1970). */
const daysOf = ({ start, end }: Breakdown['period'], last: number): readonly string[] => {
  const days: string[] = [];
  const until = dateOf(Math.min(Date.parse(end) - 1, last));
  for (let day = dateOf(start); day <= until; day = daysAfter(day, 1)) days.push(day);
  return days;
};

type DayCosts = readonly { readonly day: string; readonly cost_usd: number }[];

const costsOn = (days: readonly string[], costs: DayCosts): readonly number[] => {
  const byDay = new Map(costs.map(({ day, cost_usd }) => [day, cost_usd]));
  return days.map((day) => byDay.get(day) ?? 0);
};

/** Returns what each day has cost, by agent or, if the period does not consist of whole days, in total. */
const seriesOf = ({ series, groups }: Breakdown, days: readonly string[]) =>
  series === null
    ? [
        {
          label: 'Billed',
          tone: TONES[0]!,
          costs: costsOn(
            days,
            groups.map(({ key, cost_usd }) => ({ day: key, cost_usd })),
          ),
        },
      ]
    : series.map(({ key, label, days: costs }, n) => ({
        label: key === '' ? 'other agents' : label,
        tone: key === '' ? TONES.at(-1)! : TONES[n]!,
        costs: costsOn(days, costs),
      }));

/**
 * Compares the costs with those of the corresponding days of the period before. `isRunning` says that further days of
 * the period follow.
 */
const changeText = (cost: number, before: number, isRunning: boolean): string => {
  if (before === 0) return isRunning ? 'The same days of the period before have cost nothing.' : 'The period before has cost nothing.';
  const percent = Math.round((Math.abs(cost - before) / before) * 100);
  const more = percent === 0 ? 'as much as' : `${percent} % ${cost > before ? 'more' : 'less'} than`;
  return `That is ${more} in ${isRunning ? 'the same days of ' : ''}the period before, with ${usd(before)}.`;
};

type Compared = { readonly before: readonly number[] | null; readonly isRunning: boolean };

const summary = ({ total_cost_usd, total_repriced_usd, forecast_usd, period }: Breakdown, { before, isRunning }: Compared): Child =>
  p(
    null,
    strong(null, usd(total_cost_usd)),
    ' were billed',
    total_repriced_usd === total_cost_usd ? '. ' : `, ${usd(total_repriced_usd)} at today's prices. `,
    before === null
      ? null
      : `${changeText(
          total_cost_usd,
          before.reduce((sum, one) => sum + one, 0),
          isRunning,
        )} `,
    forecast_usd === null
      ? null
      : [
          'Forecast until ',
          dateOf(Date.parse(period.end) - 1),
          ': ',
          strong({ 'data-forecast': String(forecast_usd) }, usd(forecast_usd)),
          ', if the rest costs as much per day as the last seven days.',
        ],
  );

/**
 * Renders a chart with the costs of each day from the start of the period to its end or today, by agent, with the costs of
 * the period before as a line. Days without costs are included. Null if there were no costs.
 */
export const costChart = (breakdown: Breakdown): Child => {
  const { period, previous, total_cost_usd } = breakdown;
  const days = daysOf(period, Date.now());
  if (total_cost_usd === 0 || days.length === 0) return null;
  const series = seriesOf(breakdown, days);
  const before = previous && costsOn(daysOf(previous.period, Date.now()), previous.days).slice(0, days.length);
  return div(
    { class: 'card stack' },
    summary(breakdown, { before, isRunning: Date.now() < Date.parse(period.end) }),
    barChart({
      id: 'costs',
      title: 'Billed by day',
      series: series.map(({ label, tone }) => ({ label, tone })),
      buckets: days.map((label, n) => ({ label, values: series.map(({ costs }) => costs[n]!) })),
      line: before === null ? undefined : { label: 'the period before', values: before },
      format: usd,
      bucketName: 'Day',
    }),
  );
};
