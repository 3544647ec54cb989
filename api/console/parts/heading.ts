import { type Child, tags } from './tags.ts';

const { div, h1, p } = tags;

/** Renders the title of a page, with the actions on the right. */
export const heading = (title: Child, subtitle: Child, ...actions: Child[]) =>
  div(
    { class: 'heading' },
    div(null, h1(null, title), subtitle === null ? null : p({ class: 'quiet' }, subtitle)),
    actions.length > 0 ? div({ class: 'actions' }, ...actions) : null,
  );
