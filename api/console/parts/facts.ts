import { type Child, tags } from './tags.ts';

const { dl, dt, dd, div, section, h2 } = tags;

/** Names with values. Entries whose value is null are left out. */
export const facts = (entries: Readonly<Record<string, Child>>) =>
  dl(
    { class: 'facts' },
    ...Object.entries(entries).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [div(null, dt(null, name), dd(null, value))],
    ),
  );

/** A titled part of a page. */
export const card = (title: string, ...children: Child[]) => section({ class: 'card' }, h2(null, title), ...children);
