import { icon } from './parts/icon.ts';
import { tags } from './parts/tags.ts';
import { shortcutButtons } from './shortcuts.ts';
import { THEMES, type Visit } from './visit.ts';
import { zoneButton } from './zone.ts';

const { a, button, div, form, input, p, span, strong } = tags;

export const initials = (name: string): string => [...name.trim()].slice(0, 1).join('').toUpperCase();

const THEME_ICONS = { system: 'sun-moon', light: 'sun', dark: 'moon' } as const;

const themeSwitch = ({ theme, url }: Visit) =>
  form(
    { method: 'post', action: '/console/preferences', class: 'themes', 'aria-label': 'Theme' },
    input({ type: 'hidden', name: 'return_to', value: url }),
    ...THEMES.map((each) =>
      button(
        {
          name: 'theme',
          value: each,
          class: 'ghost small',
          'aria-pressed': String(each === theme),
          'aria-label': `${each} theme`,
          title: `${each} theme`,
        },
        icon(THEME_ICONS[each]),
      ),
    ),
  );

const signOut = () =>
  form({ method: 'post', action: '/console/sign-out' }, button({ class: 'ghost' }, icon('log-out'), span(null, 'Sign out')));

/**
 * Renders the button with the name of the visitor, and the menu that it opens: the account, and what a browser saves. It
 * needs no JavaScript. On a phone, the menu is at the bottom of the screen. Null if it is not known who the visitor is.
 */
export const userMenu = (visit: Visit) => {
  const { me } = visit;
  if (!me) return null;
  const { name: given, email = null } = me.user ?? {};
  const name = given ?? email ?? 'Signed in';
  return div(
    { class: 'visitor', 'data-user': me.user?.id ?? null },
    button(
      { type: 'button', class: 'ghost who', popovertarget: 'user-menu' },
      span({ class: 'avatar round', 'aria-hidden': 'true' }, initials(name)),
      span({ class: 'hidden' }, 'You: '),
      strong(null, name),
      icon('chevrons-up-down'),
    ),
    div(
      { id: 'user-menu', popover: 'auto', class: 'menu-box user-menu', role: 'group', 'aria-label': 'You' },
      email && email !== name ? p({ class: 'quiet' }, email) : null,
      a({ class: 'button ghost', href: '/console/me' }, icon('user'), span(null, 'Your account and browsers')),
      div({ class: 'row' }, span(null, 'Theme'), themeSwitch(visit)),
      zoneButton(visit),
      ...shortcutButtons(visit),
      signOut(),
    ),
  );
};
