import { type Child, tags } from './tags.ts';

const { div, table, caption, thead, tbody, tr, th } = tags;

/**
 * A column of a table: its title and its style. `number`: aligned to the right. `wide-only`: hidden on narrow screens.
 */
export type Column = readonly [title: Child, look?: 'number' | 'wide-only' | 'number wide-only'];

/** Renders a table. `rows` are rendered `tr` elements. */
export const tableOf = (title: string, columns: readonly Column[], rows: readonly Child[]) =>
  div(
    { class: 'table-box' },
    table(
      { class: 'list' },
      caption({ class: 'hidden' }, title),
      thead(null, tr(null, ...columns.map(([name, look]) => th({ scope: 'col', class: look ?? '' }, name)))),
      tbody(null, ...rows),
    ),
  );
