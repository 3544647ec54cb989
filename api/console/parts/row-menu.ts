import { icon } from './icon.ts';
import { type Child, tags } from './tags.ts';

const { button, div, span } = tags;

const isShown = (child: Child): boolean => child !== null && child !== undefined && child !== false;

/**
 * Renders the button "…" with the actions on the thing `name`: links to pages and to pages with forms. The actions open in the top layer,
 * so that no table cuts them off; on a phone, at the bottom of the screen. Null if there is no action. `id` is unique on the page, and the
 * same each time it is rendered, so that an open menu stays open.
 */
export const rowMenu = (id: string, name: string, actions: readonly Child[]): Child => {
  const shown = actions.filter(isShown);
  if (shown.length === 0) return null;
  return span(
    { class: 'row-menu' },
    button(
      { type: 'button', class: 'ghost small', popovertarget: id, 'aria-label': `Actions on ${name}`, 'data-menu': '' },
      icon('ellipsis'),
    ),
    div({ id, popover: 'auto', class: 'menu-box', role: 'group', 'aria-label': name }, ...shown),
  );
};
