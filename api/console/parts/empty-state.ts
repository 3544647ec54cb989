import { type IconName, icon } from './icon.ts';
import { type Child, tags } from './tags.ts';

const { div, p, h2 } = tags;

type Empty = { readonly icon: IconName; readonly title: string; readonly why: string };

/** Renders what replaces an empty list: what the list would contain, why it is empty, and what to do next. */
export const emptyState = ({ icon: name, title, why }: Empty, ...next: Child[]) =>
  div(
    { class: 'empty', 'data-empty': '' },
    icon(name),
    h2(null, title),
    p(null, why),
    next.length > 0 ? div({ class: 'actions' }, ...next) : null,
  );
