import { type IconName, icon } from './icon.ts';
import { type Child, tags } from './tags.ts';

const { div, p, h2 } = tags;

type Empty = { readonly icon: IconName; readonly title: string; readonly why: string };

/** Renders the text for an empty list: what it would contain, why it is empty, and the next step. */
export const emptyState = ({ icon: name, title, why }: Empty, ...next: Child[]) =>
  div(
    { class: 'empty', 'data-empty': '' },
    icon(name),
    h2(null, title),
    p(null, why),
    next.length > 0 ? div({ class: 'actions' }, ...next) : null,
  );
