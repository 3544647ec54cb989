import { type Child, tags } from './tags.ts';

const { dl, dt, dd, div, section, h2 } = tags;

/** Renders names with their values. An entry whose value is null is left out. */
export const facts = (entries: Readonly<Record<string, Child>>) =>
  dl(
    { class: 'facts' },
    ...Object.entries(entries).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [div(null, dt(null, name), dd(null, value))],
    ),
  );

/** Renders a section of a page with a title. */
export const card = (title: string, ...children: Child[]) => section({ class: 'card' }, h2(null, title), ...children);
