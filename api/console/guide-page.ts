import { brand, breadcrumb, document } from './frame.ts';
import { createAnchors, findGuides, type Guide, type Guides, guidePath } from './guides.ts';
import { emptyState } from './parts/empty-state.ts';
import { searchField } from './parts/filters.ts';
import { heading } from './parts/heading.ts';
import { icon } from './parts/icon.ts';
import { type MarkdownRules, renderMarkdown } from './parts/markdown.ts';
import { assetUrl, type Child, element, tags } from './parts/tags.ts';
import { containsWords } from './search-words.ts';
import type { Theme } from './visit.ts';

const { a, article, aside, button, details, div, h2, header, img, li, link, main, nav, section, span, summary, ul } = tags;

/** What all pages of the guides need. */
export type GuideDeps = { readonly assets: string; readonly theme: Theme; readonly guides: Guides };

type Shown = {
  readonly title: string;
  /** The name of the guide; null on other pages. */
  readonly name: string | null;
  readonly content: readonly Child[];
};

const CONTENTS = '/guides';
const MIN_SECTIONS = 3;
const MAX_HITS = 30;

const navigation = ({ groups }: Guides, current: string | null): readonly Child[] => {
  const entry = (path: string, title: string, isCurrent: boolean) =>
    li(null, a({ href: path, 'aria-current': isCurrent ? 'page' : null }, span(null, title)));
  return [
    ul(null, entry(CONTENTS, 'All guides', current === '')),
    ...groups.flatMap(({ title, guides }) => [
      div({ class: 'nav-title' }, title),
      ul(null, ...guides.map((guide) => entry(guidePath(guide.name), guide.title, guide.name === current))),
    ]),
  ];
};

/** Renders a complete HTML document with the navigation of the guides. It is the same for all visitors. */
const guideDocument = ({ assets, theme, guides }: GuideDeps, { title, name, content }: Shown): string =>
  document(
    assets,
    { theme },
    title,
    div(
      { class: 'frame guides' },
      link({ rel: 'stylesheet', href: assetUrl('guides.css') }),
      a({ href: '#main', class: 'skip' }, 'Skip to the content'),
      aside(
        { id: 'nav', popover: 'auto', class: 'sidebar', 'aria-label': 'Guides' },
        brand(),
        nav({ 'aria-label': 'Main' }, ...navigation(guides, name)),
        a({ class: 'button small', href: '/console' }, icon('layout-dashboard'), 'To the console'),
      ),
      div(
        { class: 'column' },
        header(
          { class: 'top' },
          button({ class: 'ghost menu', popovertarget: 'nav', 'aria-label': 'Menu' }, icon('menu')),
          breadcrumb(name === '' ? [] : [['Guides', CONTENTS]], title),
          a(
            { href: CONTENTS, class: 'button ghost small', 'data-palette': '', title: 'Find (Ctrl K)', 'aria-label': 'Find' },
            icon('search'),
          ),
        ),
        main({ id: 'main', tabindex: -1 }, ...content),
      ),
    ),
  );

/** Renders a picture. One with `-light` in its name is replaced by the one with `-dark`, if there is one, in dark mode. */
const pictureOf =
  ({ guides: { files }, theme }: GuideDeps) =>
  (url: string, alt: string): Child => {
    if (!files.get(url)?.type.startsWith('image/')) return null;
    const dark = url.replace('-light.', '-dark.');
    const path = (file: string) => `${CONTENTS}/${file}`;
    if (dark === url || !files.has(dark)) return img({ src: path(url), alt, loading: 'lazy' });
    if (theme !== 'system') return img({ src: path(theme === 'dark' ? dark : url), alt, loading: 'lazy' });
    return element(
      'picture',
      null,
      element('source', { srcset: path(dark), media: '(prefers-color-scheme: dark)' }),
      img({ src: path(url), alt, loading: 'lazy' }),
    );
  };

const PAGE_LINK = /^(?:docs\/)?([\w-]+)\.md(?:#(.*))?$/;

/** Returns where a link of a guide leads: to another guide, its own headings, a file of docs/, or another site; null otherwise. */
const linkIn =
  ({ all, files }: Guides) =>
  (url: string): string | null => {
    if (/^(?:https?:\/\/|mailto:|#)/i.test(url)) return url;
    if (url === '../README.md') return CONTENTS;
    if (files.has(url)) return `${CONTENTS}/${url}`;
    const [, name = '', anchor = ''] = PAGE_LINK.exec(url) ?? [];
    return all.has(name) ? guidePath(name, anchor) : null;
  };

const rulesOf = (deps: GuideDeps, headingId: MarkdownRules['headingId']): MarkdownRules => ({
  link: linkIn(deps.guides),
  image: pictureOf(deps),
  headingId,
});

const onThisPage = ({ headings }: Guide): Child => {
  const sections = headings.filter(({ level }) => level === 2);
  if (sections.length < MIN_SECTIONS) return null;
  return details(
    { class: 'contents', open: true },
    summary(null, 'On this page', icon('chevron-down')),
    ul(null, ...sections.map(({ text, id }) => li(null, a({ href: `#${id}` }, text)))),
  );
};

const neighbours = ({ all }: Guides, { name }: Guide): Child => {
  const guides = [...all.values()];
  const at = guides.findIndex((guide) => guide.name === name);
  const [before, after] = [guides[at - 1], guides[at + 1]];
  return nav(
    { 'aria-label': 'Guides before and after', class: 'neighbours' },
    before ? a({ class: 'button', href: guidePath(before.name), rel: 'prev' }, icon('arrow-left'), before.title) : span(null),
    after ? a({ class: 'button', href: guidePath(after.name), rel: 'next' }, after.title, icon('arrow-right')) : null,
  );
};

/** Renders the complete HTML document of a guide. */
export const guidePage = (deps: GuideDeps, guide: Guide): string =>
  guideDocument(deps, {
    title: guide.title,
    name: guide.name,
    content: [
      div(
        { class: 'guide-page' },
        onThisPage(guide),
        article({ class: 'guide' }, ...renderMarkdown(guide.text, rulesOf(deps, createAnchors())), neighbours(deps.guides, guide)),
      ),
    ],
  });

const found = (deps: GuideDeps, query: string): Child => {
  const hits = findGuides(deps.guides, (text) => containsWords(text, query)).slice(0, MAX_HITS);
  if (hits.length === 0)
    return emptyState({ icon: 'search', title: 'Nothing found', why: 'No title and no heading of the guides has these words.' });
  return ul(
    { class: 'hits', id: 'found' },
    ...hits.map(({ href, label, guide }) =>
      li(
        null,
        a({ href, class: 'row-link' }, icon('book-open'), span({ class: 'event' }, label), span({ class: 'quiet' }, guide ?? 'guide')),
      ),
    ),
  );
};

const groupsOf = (deps: GuideDeps): Child => {
  const anchor = createAnchors();
  const rules = rulesOf(deps, () => null);
  return div(
    { class: 'guide-groups' },
    ...deps.guides.groups.map(({ title, list }) =>
      section({ class: 'guide' }, h2({ id: anchor(title) }, title), ...renderMarkdown(list, rules)),
    ),
  );
};

/** Renders the page that lists the guides by their readers, or finds the headings that contain the words of a query. */
export const contentsPage = (deps: GuideDeps, query: string): string =>
  guideDocument(deps, {
    title: 'Guides',
    name: '',
    content: [
      heading(
        'Guides',
        'How to use, operate and change this platform.',
        a({ class: 'button', href: '/docs' }, icon('code-xml'), 'API reference'),
      ),
      searchField(CONTENTS, { name: 'q', value: query, placeholder: 'Title or heading' }),
      query === '' ? groupsOf(deps) : found(deps, query),
    ],
  });

/** Renders the page for an address at which there is no guide. */
export const unknownGuidePage = (deps: GuideDeps): string =>
  guideDocument(deps, {
    title: 'Not found',
    name: null,
    content: [
      tags.h1({ class: 'hidden' }, 'Not found'),
      emptyState(
        { icon: 'book-open', title: 'There is no such guide', why: 'It may have another name in this version of the platform.' },
        a({ class: 'button', href: CONTENTS }, 'To all guides'),
      ),
    ],
  });
