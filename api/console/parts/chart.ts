import { type Child, element, type Node, tags } from './tags.ts';

const { figure, figcaption, table, caption, thead, tbody, tr, th, td, div, ul, li, span } = tags;

/** The maximum number of bars in a chart. If there are more buckets, neighbouring ones are added up. */
export const MAX_BUCKETS = 120;

export type ChartTone = 'good' | 'warn' | 'bad' | 'dead' | 'busy' | 'calm' | 'accent';

/** A series: one part of each bar. `tone` is its colour. Its pattern depends on its index in the list of series. */
export type ChartSeries = { readonly label: string; readonly tone: ChartTone };

/** A bar. `label` is its full name. `values` contains one number per series. `href` links to the counted items. */
export type ChartBucket = { readonly label: string; readonly values: readonly number[]; readonly href?: string };

export type Chart = {
  /** The id of the chart, which must be unique on the page. */
  readonly id: string;
  readonly title: string;
  readonly series: readonly ChartSeries[];
  readonly buckets: readonly ChartBucket[];
  /** Numbers of another time, one for each bucket, which are drawn as a line over the bars. */
  readonly line?: { readonly label: string; readonly values: readonly number[] } | undefined;
  /** Formats a number; by default, with thousands separators. */
  readonly format?: (value: number) => string;
  /** The title of the first column in the table of the numbers. */
  readonly bucketName?: string;
  /** The text at the right end of the axis; by default, the label of the last bucket. */
  readonly endText?: string;
};

const [WIDTH, HEIGHT, GRID_LINES] = [960, 160, 4];

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

const sizeOfMerged = (count: number): number => Math.ceil(count / MAX_BUCKETS);

/** Adds up the numbers of the line for those buckets that are merged. */
const mergedLine = ({ line, buckets }: Chart): Chart['line'] => {
  const size = sizeOfMerged(buckets.length);
  if (!line || size <= 1) return line;
  const count = Math.ceil(buckets.length / size);
  return { ...line, values: Array.from({ length: count }, (_, n) => sumOf(line.values.slice(n * size, (n + 1) * size))) };
};

/** Adds up neighbouring buckets, so that at most MAX_BUCKETS remain. */
export const merged = (buckets: readonly ChartBucket[]): readonly ChartBucket[] => {
  const size = sizeOfMerged(buckets.length);
  if (size <= 1) return buckets;
  return Array.from({ length: Math.ceil(buckets.length / size) }, (_, index) => {
    const group = buckets.slice(index * size, (index + 1) * size);
    const values = group[0]!.values.map((__, n) => sumOf(group.map((one) => one.values[n] ?? 0)));
    return { label: group.length > 1 ? `${group[0]!.label} to ${group.at(-1)!.label}` : group[0]!.label, values };
  });
};

/** The patterns that distinguish the series without colours: none, stripes, dots, crosses, lines. */
const MARKS: readonly (readonly Child[])[] = [
  [],
  [element('path', { d: 'M-2 2 2 -2M0 8 8 0M6 10 10 6', class: 'mark-line' })],
  [element('circle', { cx: 4, cy: 4, r: 1.7, class: 'mark-dot' })],
  [element('path', { d: 'M0 0 8 8M8 0 0 8', class: 'mark-line' })],
  [element('path', { d: 'M0 4h8', class: 'mark-line' })],
];

const patternId = (id: string, index: number): string => `${id}-p${index}`;

const patternOf = (id: string, { tone }: ChartSeries, index: number) =>
  element(
    'pattern',
    { id: patternId(id, index), width: 8, height: 8, patternUnits: 'userSpaceOnUse', class: `tone-${tone}` },
    element('rect', { width: 8, height: 8, class: 'mark-ground' }),
    ...MARKS[index % MARKS.length]!,
  );

/** Returns a round number that is not less than `value`, for the top of the axis. */
export const axisTop = (value: number): number => {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 2.5, 5, 10].find((one) => one * unit >= value * (1 - 1e-9)) ?? 10;
  return factor * unit;
};

const rounded = (value: number): number => Math.round(value * 100) / 100;

const barOf = ({ id, series, format = String }: Chart, { label, values, href }: ChartBucket, index: number, scale: Scale) => {
  const { step, top } = scale;
  const gap = step > 6 ? Math.min(step * 0.22, 8) : 0.6;
  const place = { x: rounded(index * step + gap / 2), width: rounded(step - gap) };
  let base = HEIGHT;
  const parts = values.map((value, n) => {
    const height = (value / top) * HEIGHT;
    base -= height;
    return value > 0 ? element('rect', { ...place, y: rounded(base), height: rounded(height), fill: `url(#${patternId(id, n)})` }) : null;
  });
  const said = `${label}: ${series.map((one, n) => `${format(values[n] ?? 0)} ${one.label}`).join(', ')}`;
  const group = element(
    'g',
    { class: 'bar' },
    element('title', {}, said),
    element('rect', { ...place, y: 0, height: HEIGHT, class: 'bar-area' }),
    ...parts,
  );
  return href === undefined ? group : element('a', { href, tabindex: -1, 'aria-hidden': 'true' }, group);
};

type Scale = { readonly step: number; readonly top: number };

const drawnLine = ({ line }: Chart, { step, top }: Scale) =>
  line
    ? element('polyline', {
        points: line.values.map((value, n) => `${rounded((n + 0.5) * step)},${rounded(HEIGHT - (value / top) * HEIGHT)}`).join(' '),
        class: 'chart-line',
      })
    : null;

const drawing = (chart: Chart, scale: Scale) => {
  const { id, title, series, buckets } = chart;
  const lines = Array.from({ length: GRID_LINES }, (_, n) => rounded((n / GRID_LINES) * HEIGHT));
  return element(
    'svg',
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: 'none',
      // The role `img` does not allow links inside the chart.
      role: buckets.some(({ href }) => href !== undefined) ? 'group' : 'img',
      'aria-labelledby': `${id}-title`,
      class: 'chart-bars',
    },
    element('title', { id: `${id}-title` }, title),
    element('defs', {}, ...series.map((one, index) => patternOf(id, one, index))),
    ...lines.map((y) => element('path', { d: `M0 ${y}H${WIDTH}`, class: 'grid-line' })),
    ...buckets.map((bucket, index) => barOf(chart, bucket, index, scale)),
    drawnLine(chart, scale),
  );
};

const swatch = (id: string, index: number) =>
  element(
    'svg',
    { viewBox: '0 0 16 16', class: 'swatch', 'aria-hidden': 'true' },
    element('rect', { width: 16, height: 16, rx: 3, fill: `url(#${patternId(id, index)})` }),
  );

const lineSwatch = () =>
  element('svg', { viewBox: '0 0 16 16', class: 'swatch', 'aria-hidden': 'true' }, element('path', { d: 'M0 8h16', class: 'chart-line' }));

const legendOf = ({ id, series, buckets, line, format = String }: Chart) =>
  ul(
    { class: 'legend' },
    ...series.map(({ label }, index) =>
      li(
        null,
        swatch(id, index),
        span(null, label),
        span({ class: 'quiet' }, format(sumOf(buckets.map(({ values }) => values[index] ?? 0)))),
      ),
    ),
    line ? li(null, lineSwatch(), span(null, line.label), span({ class: 'quiet' }, format(sumOf(line.values)))) : null,
  );

const tableOf = ({ title, series, buckets, line, format = String, bucketName = 'Time' }: Chart) =>
  div(
    { class: 'hidden' },
    table(
      null,
      caption(null, title),
      thead(
        null,
        tr(null, th({ scope: 'col' }, bucketName), ...[...series, ...(line ? [line] : [])].map(({ label }) => th({ scope: 'col' }, label))),
      ),
      tbody(
        null,
        ...buckets.map(({ label, values }, n) =>
          tr(
            null,
            th({ scope: 'row' }, label),
            ...series.map((_, index) => td(null, format(values[index] ?? 0))),
            line ? td(null, format(line.values[n] ?? 0)) : null,
          ),
        ),
      ),
    ),
  );

const NUMBER = new Intl.NumberFormat('en-US', { maximumFractionDigits: 6 });

const plain = (value: number): string => NUMBER.format(value);

/**
 * Renders a chart of stacked bars as SVG, with a legend. For screen readers, it adds a table of the numbers. Each
 * series has a colour and a pattern.
 */
export const barChart = (given: Chart): Node => {
  const chart = { ...given, buckets: merged(given.buckets), line: mergedLine(given), format: given.format ?? plain };
  const { title, buckets, format } = chart;
  const top = axisTop(Math.max(0, ...buckets.map(({ values }) => sumOf(values)), ...(chart.line?.values ?? [])));
  const middle = buckets.length > 4 ? buckets[buckets.length >> 1] : undefined;
  const ends = [buckets[0]?.label, middle?.label, given.endText ?? buckets.at(-1)?.label];
  return figure(
    { class: 'chart', 'data-chart': given.id },
    figcaption({ class: 'chart-head' }, span({ class: 'chart-title' }, title), legendOf(chart)),
    div(
      { class: 'chart-plot' },
      span({ class: 'chart-top', 'aria-hidden': 'true' }, format(top)),
      drawing(chart, { step: WIDTH / Math.max(1, buckets.length), top }),
    ),
    div({ class: 'chart-axis', 'aria-hidden': 'true' }, ...ends.flatMap((text) => (text ? [span(null, text)] : []))),
    tableOf(chart),
  );
};
