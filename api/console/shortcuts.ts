import { icon } from './parts/icon.ts';
import { type Child, tags } from './parts/tags.ts';
import type { Visit } from './visit.ts';

const { a, button, div, form, input, span } = tags;

/**
 * Renders the button that lists the keys of a page, the link to the guides, and the switch for keys that act without a modifier key. The list
 * needs JavaScript; without it, its button is hidden.
 */
export const shortcutButtons = ({ singleKeys, url }: Visit): Child =>
  div(
    { class: 'row' },
    button(
      { type: 'button', hidden: true, class: 'ghost small', 'data-hotkey': '?', 'data-key-name': 'This list', title: 'Keys (?)' } as never,
      icon('keyboard'),
      span(null, 'Keys'),
    ),
    a({ class: 'button ghost small', href: '/guides' }, icon('book-open'), 'Guides'),
    form(
      { method: 'post', action: '/console/preferences', 'aria-label': 'Single keys' },
      input({ type: 'hidden', name: 'return_to', value: url }),
      button(
        {
          name: 'keys',
          value: singleKeys ? 'off' : 'on',
          class: 'ghost small',
          title: 'Whether single keys such as j act. Ctrl K always does',
        },
        `Single keys: ${singleKeys ? 'on' : 'off'}`,
      ),
    ),
  );
