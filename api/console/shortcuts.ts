import { icon } from './parts/icon.ts';
import { type Child, tags } from './parts/tags.ts';
import type { Visit } from './visit.ts';

const { a, button, form, input, span } = tags;

/**
 * Renders the button that lists the keys of a page, the switch for keys that act without a modifier key, and the link to the guides. The list
 * needs JavaScript; without it, its button is hidden.
 */
export const shortcutButtons = ({ singleKeys, url }: Visit): readonly Child[] => [
  button(
    { type: 'button', hidden: true, class: 'ghost', 'data-hotkey': '?', 'data-key-name': 'This list', title: 'Keys (?)' },
    icon('keyboard'),
    span(null, 'Keys of this page'),
  ),
  form(
    { method: 'post', action: '/console/preferences', 'aria-label': 'Single keys' },
    input({ type: 'hidden', name: 'return_to', value: url }),
    button(
      { name: 'keys', value: singleKeys ? 'off' : 'on', class: 'ghost', title: 'Whether single keys such as j act. Ctrl K always does' },
      icon(singleKeys ? 'check' : 'x'),
      span(null, `Single keys: ${singleKeys ? 'on' : 'off'}`),
    ),
  ),
  a({ class: 'button ghost', href: '/guides' }, icon('book-open'), span(null, 'Guides')),
];
