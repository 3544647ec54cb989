import { rowMenu } from './row-menu.ts';
import { type Child, tags } from './tags.ts';

const { a, caption, div, nav, span, strong, table, tbody, td, th, thead, tr } = tags;

/** A link that sorts the list by a column. `order` is that of the shown list; null if it is sorted by another column. */
export type ColumnSort = { readonly href: string; readonly order: 'ascending' | 'descending' | null };

/** A column of a table after that of the names. */
export type DataColumn<Row> = {
  readonly title: string;
  readonly cell: (row: Row) => Child;
  /** `number`: aligned to the right in a table. `state`: beside the name, and below it on a phone. */
  readonly look?: 'number' | 'state';
  readonly sort?: ColumnSort;
};

export type DataTable<Row> = {
  /** The title of the table, for screen readers. */
  readonly title: string;
  /** What a row is about, such as `agent`. */
  readonly kind: string;
  readonly id: (row: Row) => string;
  /** The title of the first column, which has the name of the thing. */
  readonly nameTitle: string;
  readonly nameSort?: ColumnSort;
  readonly name: (row: Row) => string;
  /** Renders the name, where its text alone is not enough, such as a time in the zone of the visitor. */
  readonly shownName?: (row: Row) => Child;
  /** The path of the page about the thing. The whole row leads to it. */
  readonly href?: ((row: Row) => string | null) | undefined;
  /** What follows the name on its line. */
  readonly beside?: (row: Row) => Child;
  /** What is shown below the name; null for nothing. */
  readonly details?: (row: Row) => Child;
  readonly columns: readonly DataColumn<Row>[];
  /** The actions on the thing: links to pages and forms. */
  readonly menu?: (row: Row) => readonly Child[];
  /** Further attributes of the row. */
  readonly attributes?: (row: Row) => Readonly<Record<string, string | null>>;
};

const nameCell = <Row>({ name, shownName, href, beside, details }: DataTable<Row>, row: Row): Child => {
  const path = href?.(row) ?? null;
  const text = span({ class: 'event' }, shownName?.(row) ?? name(row));
  const more = details?.(row) ?? null;
  return td(
    { class: 'main-cell' },
    path === null ? strong(null, text) : a({ href: path, class: 'row-link' }, text),
    beside?.(row) ?? null,
    more === null ? null : div({ class: 'quiet' }, more),
  );
};

const rowOf = <Row>(given: DataTable<Row>, row: Row): Child => {
  const { kind, id, name, columns, menu, attributes } = given;
  const key = id(row);
  return tr(
    { 'data-kind': kind, 'data-id': key, ...attributes?.(row) },
    nameCell(given, row),
    ...columns.map(({ title, cell, look }) => {
      const of = look === 'state' ? 'state-cell' : (look ?? null);
      return td({ class: of, 'data-label': title }, cell(row));
    }),
    menu ? td({ class: 'menu-cell' }, rowMenu(`menu-${kind}-${key}`, name(row), menu(row))) : null,
  );
};

const headCell = (title: string, sort: ColumnSort | undefined, look: string | undefined): Child =>
  th(
    { scope: 'col', class: look === 'number' ? 'number' : null, 'aria-sort': sort?.order ?? null },
    sort ? a({ href: sort.href, class: 'sort-link' }, title) : title,
  );

/** Renders the links that sort the list, for widths at which the table has no header. */
const sortLinks = <Row>({ nameTitle, nameSort, columns }: DataTable<Row>): Child => {
  const sorts = [{ title: nameTitle, sort: nameSort }, ...columns].flatMap(({ title, sort }) => (sort ? [{ title, sort }] : []));
  if (sorts.length === 0) return null;
  return nav(
    { class: 'sort-links', 'aria-label': 'Sort by' },
    span({ class: 'quiet' }, 'Sort by'),
    ...sorts.map(({ title, sort }) => a({ href: sort.href, class: 'sort-link', 'data-order': sort.order }, title)),
  );
};

/**
 * Renders a table whose rows are links. Where it has less than 880 px, each row has a second line with the other values
 * and their labels; below 600 px, each row is a card. So every width shows the same values.
 */
export const dataTable = <Row>(given: DataTable<Row>, rows: readonly Row[]): Child => {
  const { title, nameTitle, nameSort, columns, menu } = given;
  const head = columns.map((column) => headCell(column.title, column.sort, column.look));
  return div(
    { class: 'table-box' },
    sortLinks(given),
    table(
      { class: 'list data' },
      caption({ class: 'hidden' }, title),
      thead(
        null,
        tr(
          null,
          headCell(nameTitle, nameSort, undefined),
          ...head,
          menu ? th({ scope: 'col' }, span({ class: 'hidden' }, 'Actions')) : null,
        ),
      ),
      tbody(null, ...rows.map((row) => rowOf(given, row))),
    ),
  );
};
