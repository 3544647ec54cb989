import { type Child, tags } from './tags.ts';

const { div, table, caption, thead, tbody, tr, th } = tags;

/** A column of a table: its title, and how it is shown: numbers at the right, or only on wide screens. */
export type Column = readonly [title: string, look?: 'number' | 'wide-only' | 'number wide-only'];

/** A table with its columns and rows. `rows` are elements `tr`. */
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
