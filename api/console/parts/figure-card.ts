import { type Sparkline, sparkline } from './sparkline.ts';
import { type Child, tags } from './tags.ts';

const { a, div, h2, span, strong } = tags;

export type FigureCard = {
  /** The name of the figure in the page, for scripts. */
  readonly name: string;
  readonly title: string;
  /** The page with what was counted; null if the visitor may not open it. The whole card leads to it. */
  readonly href: string | null;
  /** The number as people read it. `exact` is the number itself. */
  readonly value: string;
  readonly exact: number;
  /** The change against the time before, or another text that puts the number in relation. */
  readonly change: Child;
  readonly chart: Sparkline;
  /** `dead`: numbers above zero are bad. */
  readonly tone?: 'dead' | 'accent';
};

/** Renders a figure with its change and its numbers per hour. */
export const figureCard = ({ name, title, href, value, exact, change, chart, tone = 'accent' }: FigureCard) =>
  div(
    { class: `card figure-card tone-${tone}`, 'data-figure': name, 'data-value': String(exact) },
    h2(null, href === null ? title : a({ href, class: 'row-link' }, title)),
    div({ class: 'figure-line' }, strong(null, value), span({ class: 'quiet' }, change)),
    sparkline(chart),
  );
