import { countText } from './count-text.ts';
import { element, tags } from './tags.ts';

const { dd, div, dl, dt } = tags;

export type Sparkline = {
  /** What is counted, such as `Deliveries per hour`. */
  readonly title: string;
  /** One number for each hour, the earliest first. The last hour ends now. */
  readonly values: readonly number[];
  /** Formats a number; by default, with thousands separators. */
  readonly format?: (value: number) => string;
};

const [STEP, GAP, HEIGHT] = [4, 1, 24];

/** Returns the path of the bars. A bar is at least one unit high, so that small numbers are visible beside large ones. */
const barsOf = (values: readonly number[]): string => {
  const top = Math.max(...values);
  return values
    .map((value, n) => {
      const height = value > 0 ? Math.max(1, Math.round((value / top) * HEIGHT)) : 0;
      return height === 0 ? '' : `M${n * STEP} ${HEIGHT}v${-height}h${STEP - GAP}V${HEIGHT}z`;
    })
    .join('');
};

const hourText = (ago: number): string => (ago === 0 ? 'the last hour' : `${ago} h before`);

/**
 * Renders numbers of the last hours as small bars. For screen readers, it adds a list of the hours with a number above zero:
 * a list and not a table, because sparklines are cells of tables.
 */
export const sparkline = ({ title, values, format = countText }: Sparkline) => {
  const counted = values.map((value, n) => ({ value, ago: values.length - 1 - n })).filter(({ value }) => value > 0);
  const width = values.length * STEP;
  const label = counted.length === 0 ? `${title}: none in ${values.length} h` : title;
  return div(
    { class: 'sparkline' },
    element(
      'svg',
      { viewBox: `0 0 ${width} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
      element('path', { d: `M0 ${HEIGHT}h${width}`, class: 'spark-line' }),
      element('path', { d: barsOf(values), class: 'spark-bars' }),
    ),
    counted.length === 0
      ? null
      : dl(
          { class: 'hidden', 'aria-label': `${title}; hours without any are left out` },
          ...counted.map(({ value, ago }) => div(null, dt(null, hourText(ago)), dd(null, format(value)))),
        ),
  );
};
