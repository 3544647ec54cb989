import { icon } from './icon.ts';
import { element, tags } from './tags.ts';

const { code, button, span } = tags;

/** Returns a shortened id: its first and last four characters. A short id is returned unchanged. */
export const abbreviated = (id: string): string => (id.length <= 12 ? id : `${id.slice(0, 4)}…${id.slice(-4)}`);

/** Renders a button that copies a text. Without JavaScript, it is hidden. */
export const copyButton = (text: string, what: string) =>
  element(
    'copy-button',
    { 'data-text': text },
    button({ type: 'button', class: 'ghost small', 'aria-label': `Copy ${what}`, title: `Copy ${what}` }, icon('copy')),
  );

/** Renders a shortened id, with a button that copies the full id. */
export const shortId = (id: string, what = 'the id') => span({ class: 'id' }, code({ title: id }, abbreviated(id)), copyButton(id, what));
