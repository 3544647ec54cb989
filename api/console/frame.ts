import type { Answer } from '../http/ask.ts';
import { apiDrawer } from './api-drawer.ts';
import { breakGlassStrip } from './break-glass-strip.ts';
import { copyAttributes, copyMenu } from './copy-menu.ts';
import { degradedStrip } from './degraded-strip.ts';
import type { Live } from './live.ts';
import { navigationOf } from './navigation.ts';
import type { NavEntry } from './page.ts';
import { countText } from './parts/count-text.ts';
import { icon } from './parts/icon.ts';
import { type Child, htmlOf, tags } from './parts/tags.ts';
import { formatIn } from './parts/time.ts';
import { staleStrip } from './stale-strip.ts';
import { initials, userMenu } from './user-menu.ts';
import { type Counts, type MyTenant, platformPath, tenantPath, type Visit } from './visit.ts';
import { unknownZoneNote } from './zone.ts';
import { zoneOffer } from './zone-offer.ts';

const {
  html,
  head,
  meta,
  title,
  link,
  script,
  body,
  a,
  nav,
  div,
  header,
  main,
  span,
  ul,
  li,
  button,
  details,
  summary,
  strong,
  ol,
  aside,
} = tags;

export type Framed = {
  readonly title: string;
  readonly nav: string;
  readonly trail: readonly (readonly [string, string])[];
  readonly content: readonly Child[];
  /** The controls with which visitors go to other times. */
  readonly time?: Child;
  /** Whether the page shows a time in the past. */
  readonly isPast?: boolean;
  /** The answer to the main call of the page, which can be copied. */
  readonly main?: Answer<unknown> | null | undefined;
  /** How the page is kept up to date. Null or absent: it is not updated. */
  readonly live?: Live | null;
};

const SCRIPTS = ['console.mjs', 'live.mjs'] as const;

type Looks = Pick<Visit, 'theme'> & Partial<Pick<Visit, 'zone' | 'singleKeys'>>;

/** Renders a complete HTML document with this content. */
export const document = (assets: string, { theme, zone = 'UTC', singleKeys = true }: Looks, name: string, content: Child): string => {
  const page = html(
    { lang: 'en', 'data-theme': theme, 'data-keys': singleKeys ? null : 'off' },
    head(
      null,
      meta({ charset: 'utf-8' }),
      meta({ name: 'viewport', content: 'width=device-width, initial-scale=1' }),
      // The header allows no referrer. Browsers would then also hide the origin of our own forms, which is checked.
      meta({ name: 'referrer', content: 'same-origin' }),
      meta({ name: 'color-scheme', content: theme === 'system' ? 'light dark' : theme }),
      title(null, `${name} · Annals`),
      link({ rel: 'stylesheet', href: `${assets}/console.css` }),
      link({ rel: 'icon', type: 'image/svg+xml', href: `${assets}/favicon.svg` }),
      // The fonts are loaded early, and a page never changes its font after it is shown, so that nothing moves.
      ...['geist', 'geist-mono'].map((font) =>
        link({ rel: 'preload', as: 'font', type: 'font/woff2', href: `${assets}/${font}.woff2`, crossorigin: 'anonymous' }),
      ),
      ...SCRIPTS.map((file) => script({ type: 'module', src: `${assets}/${file}` })),
    ),
    body(null, content),
  );
  return `<!doctype html>${htmlOf(page, assets, formatIn(zone))}`;
};

export const brand = () => a({ href: '/console', class: 'brand' }, icon('git-commit-horizontal'), span(null, 'Annals'));

const tenantSwitcher = ({ me, params, breakGlass, may }: Visit) => {
  const tenants: readonly MyTenant[] = me?.tenants ?? [];
  const current = params.tenant_id;
  const shown = tenants.find(({ id }) => id === current) ?? breakGlass;
  const name = shown?.name ?? (current === undefined ? 'Platform' : me === null ? 'Tenant' : 'Another tenant');
  const label = [span({ class: 'avatar', 'aria-hidden': 'true' }, initials(name)), strong(null, name), icon('chevrons-up-down')];
  return details(
    { class: 'switcher' },
    summary(null, span({ class: 'hidden' }, 'Tenant: '), ...label),
    ul(
      null,
      ...tenants.map(({ id, name: each, role }) =>
        li(
          null,
          a(
            { href: tenantPath(id), 'aria-current': id === current ? 'true' : null },
            span({ class: 'avatar', 'aria-hidden': 'true' }, initials(each)),
            span(null, each),
            span({ class: 'quiet' }, role ?? ''),
          ),
        ),
      ),
      may('platform')
        ? li(
            null,
            a(
              { href: platformPath(), 'aria-current': current === undefined ? 'true' : null },
              span({ class: 'avatar', 'aria-hidden': 'true' }, icon('activity')),
              span(null, 'Platform'),
            ),
          )
        : null,
    ),
  );
};

/** Renders the number beside an entry. Null if there is nothing to count, or the number is not known. */
const navCount = ({ count }: NavEntry, counts: Counts | null): Child => {
  const number = count && counts?.[count.of];
  if (!number) return null;
  const more = number >= (count.max ?? Number.POSITIVE_INFINITY) ? '+' : '';
  return span({ class: 'nav-count' }, `${countText(number)}${more}`, span({ class: 'hidden' }, ` ${count.words}`));
};

const navLink = (entry: NavEntry, current: string, counts: Counts | null) => {
  const { label, icon: name, path, hotkey, count } = entry;
  const keys = { 'data-hotkey': hotkey, 'data-key-name': count ? label : null };
  return a(
    { href: path, 'aria-current': label === current ? 'page' : null, ...keys },
    icon(name),
    span(null, label),
    navCount(entry, counts),
  );
};

const navList = (entries: readonly NavEntry[], current: string, counts: Counts | null) =>
  ul(null, ...entries.map((entry) => li(null, navLink(entry, current, counts))));

const navGroup = (title: string, entries: readonly NavEntry[], current: string, counts: Counts | null): Child => {
  if (entries.length === 0) return null;
  return [title === '' ? null : div({ class: 'nav-title' }, title), navList(entries, current, counts)];
};

const sidebar = (visit: Visit, current: string) => {
  const entries = navigationOf(visit);
  const counts = visit.navCounts?.current ?? null;
  // An open page keeps what its navigation shows instead of what is unknown.
  const unknown = {
    'data-counts': visit.navCounts && counts === null ? 'unknown' : null,
    'data-entries': visit.me === null ? 'unknown' : null,
  };
  return aside(
    { id: 'nav', popover: 'auto', class: 'sidebar', 'aria-label': 'Console' },
    brand(),
    tenantSwitcher(visit),
    nav(
      { 'aria-label': 'Main', ...unknown },
      visit.params.tenant_id === undefined
        ? navList(entries.platform, current, counts)
        : entries.groups.map(({ title, entries: pages }) => navGroup(title, pages, current, counts)),
    ),
    userMenu(visit),
  );
};

export const breadcrumb = (trail: Framed['trail'], name: string) =>
  nav(
    { 'aria-label': 'Breadcrumb', class: 'breadcrumb' },
    ol(
      null,
      // On phones, the link to the page above is an arrow: two names would not fit.
      ...trail.map(([label, path], index) =>
        li(null, a({ href: path }, index === trail.length - 1 ? icon('arrow-left') : null, span(null, label)), icon('chevron-right')),
      ),
      li({ 'aria-current': 'page' }, name),
    ),
  );

/** Renders the link to the search page. With JavaScript, it opens the command palette instead. */
const findLink = ({ me, params: { tenant_id } }: Visit) =>
  me === null
    ? null
    : a(
        {
          href: tenant_id === undefined ? '/console/find' : tenantPath(tenant_id, '/find'),
          class: 'button ghost small',
          'data-palette': '',
          title: 'Find (Ctrl K)',
          'aria-label': 'Find',
        },
        icon('search'),
      );

/** Renders the messages above the content of a page, the most urgent first. Null if there are none. */
const banners = (visit: Visit): Child => {
  const shown = [breakGlassStrip(visit), degradedStrip(visit), staleStrip(visit), unknownZoneNote(visit), zoneOffer(visit)];
  return shown.every((one) => one === null) ? null : div({ id: 'banners' }, ...shown);
};

/** Renders a complete HTML document for a signed-in visitor, with navigation, breadcrumbs and header. */
export const framed = (
  assets: string,
  visit: Visit,
  { title: name, nav: current, trail, content, time, isPast, live, main: answer }: Framed,
): string => {
  return document(
    assets,
    visit,
    name,
    div(
      { class: ['frame', ...(isPast ? ['past'] : []), ...(visit.breakGlass?.isOpen ? ['glass'] : [])].join(' ') },
      a({ href: '#main', class: 'skip' }, 'Skip to the content'),
      sidebar(visit, current),
      div(
        { class: 'column' },
        header(
          { class: 'top' },
          button({ class: 'ghost menu', popovertarget: 'nav', 'aria-label': 'Menu' }, icon('menu')),
          breadcrumb(trail, name),
          live?.state ?? null,
          time ?? null,
          findLink(visit),
          copyMenu(answer),
        ),
        live?.notices ?? null,
        main({ id: 'main', tabindex: -1, ...live?.attributes, ...copyAttributes(visit, answer) }, banners(visit), ...content),
        apiDrawer(visit),
      ),
    ),
  );
};

/** Renders a complete HTML document without navigation, such as the sign-in page. */
export const plainDocument = (assets: string, visit: Pick<Visit, 'theme'>, name: string, ...content: Child[]): string =>
  document(assets, visit, name, main({ id: 'main', class: 'alone' }, div({ class: 'alone-brand' }, brand()), ...content));
