import type { Rows } from '../../areas.ts';
import { findGuides } from '../../console/guides.ts';
import { entriesOf, navigationOf } from '../../console/navigation.ts';
import { NOT_ASKED, page } from '../../console/page.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { searchField } from '../../console/parts/filters.ts';
import { heading } from '../../console/parts/heading.ts';
import { type IconName, icon } from '../../console/parts/icon.ts';
import { problemPanel } from '../../console/parts/problem-panel.ts';
import { tags } from '../../console/parts/tags.ts';
import { mayOpenForm } from '../../console/permission.ts';
import { containsWords } from '../../console/search-words.ts';
import { platformPath, tenantPath, type Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { isRead, type Operation } from '../../http/operation.ts';

const { a, li, span, ul } = tags;

type Item = ReplyOf<Rows['autocomplete']>[number];
type Tenant = ReplyOf<Rows['listTenants']>[number];

/** A search result: the URL of its page, its name, and what kind of thing it is. */
type Hit = {
  readonly href: string;
  readonly label: string;
  readonly kind: string;
  readonly icon: IconName;
  /** The kind and the id of the resource; absent for pages, forms and lists of events. */
  readonly resource?: readonly [kind: string, id: string];
};

const MAX_FORMS = 8;
const MAX_GUIDES = 8;
const MAX_ITEMS = 20;
const MIN_TITLE_QUERY = 2;

type ItemPage = {
  readonly icon: IconName;
  /** The permission on the tenant that the page needs; absent if anyone who sees the item may open it. */
  readonly permit?: string;
  /** Returns the path of the page below that of the tenant. */
  readonly path: (item: Item) => string;
};

/** For each type of item, the pages about it. The first page that the visitor may open is offered. */
const ITEM_PAGES: Readonly<Record<Item['type'], readonly ItemPage[]>> = {
  agent: [{ icon: 'bot', path: ({ id }) => `/agents/${id}` }],
  user: [
    { icon: 'user', permit: 'tenant:audit:read', path: ({ id }) => `/members/${id}` },
    { icon: 'user', path: ({ label }) => `/members?${new URLSearchParams({ q: label })}` },
  ],
  session: [{ icon: 'message-square', permit: 'tenant:audit:read', path: ({ id }) => `/sessions/${id}` }],
  integration: [{ icon: 'plug', permit: 'tenant:integrations:read', path: ({ id }) => `/integrations/${id}` }],
  cron_job: [{ icon: 'calendar-clock', path: ({ id, agent_id }) => `/agents/${agent_id}/cron-jobs/${id}` }],
  skill: [{ icon: 'zap', path: ({ id }) => `/skills/${id}` }],
  tool: [{ icon: 'settings', path: ({ id }) => `/tools/${id}` }],
  file: [],
  delivery: [{ icon: 'inbox', path: ({ id }) => `/deliveries/${id}` }],
  event: [{ icon: 'list-tree', permit: 'tenant:audit:read', path: ({ id }) => `/events/${id}` }],
  request: [{ icon: 'list-tree', permit: 'tenant:audit:read', path: ({ id }) => `/events?${new URLSearchParams({ correlation_id: id })}` }],
  position: [{ icon: 'list-tree', permit: 'tenant:audit:read', path: ({ id }) => `/events?${new URLSearchParams({ to_position: id })}` }],
};

/**
 * The label of a result type, for types whose name is not suitable as a label. For all others, the label is the name of
 * the type.
 */
const KINDS: Readonly<Partial<Record<Item['type'], string>>> = {
  cron_job: 'cron job',
  request: 'events of this request, the newest',
  position: 'events up to this position, the newest',
};

/** The types of results that are not resources: their ids are those of a request, or positions of the log. */
const LISTS: readonly Item['type'][] = ['request', 'position'];

const resourceOf = ({ type, id }: Item): Pick<Hit, 'resource'> =>
  LISTS.includes(type) ? {} : { resource: [type.replaceAll('_', '-'), id] };

const queryOf = ({ query }: Visit): string => (query.get('q') ?? '').trim().slice(0, 255);

const pageHits = (visit: Visit, query: string): Hit[] => {
  return [...entriesOf(visit), ...navigationOf(visit).others]
    .filter(({ label }) => containsWords(label, query))
    .map(({ label, path, icon: name }) => ({ href: path, label, kind: 'page', icon: name }));
};

/** Returns the guides, and the sections of them, whose titles contain the query. */
const guideHits = ({ guides }: Visit, query: string): Hit[] =>
  query.length < MIN_TITLE_QUERY
    ? []
    : findGuides(guides, (text) => containsWords(text, query))
        .slice(0, MAX_GUIDES)
        .map(({ href, label, guide }) => ({ href, label, kind: guide === null ? 'guide' : `guide · ${guide}`, icon: 'book-open' }));

const tenantHits = ({ me }: Visit, query: string, listed: readonly Tenant[]): Hit[] => [
  ...(me?.tenants ?? [])
    .filter(({ name, slug }) => query !== '' && containsWords(`${name} ${slug}`, query))
    .map(({ id, name }): Hit => ({ href: tenantPath(id), label: name, kind: 'your tenant', icon: 'building-2', resource: ['tenant', id] })),
  ...listed.map(
    ({ id, name }): Hit => ({
      href: platformPath(`/tenants/${id}`),
      label: name,
      kind: 'tenant',
      icon: 'building-2',
      resource: ['tenant', id],
    }),
  ),
];

/**
 * Returns the page about an item that the visitor may open. Those who find a file get the file itself. Null if there is no
 * such page.
 */
const itemHref = (visit: Visit, item: Item): readonly [href: string, icon: IconName] | null => {
  const { may, params } = visit;
  const tenant_id = params.tenant_id!;
  const { id, type } = item;
  if (type === 'file') return [`/tenant/${tenant_id}/files/${id}`, 'download'];
  const found = ITEM_PAGES[type].find(({ permit }) => permit === undefined || may(permit));
  return found ? [tenantPath(tenant_id, found.path(item)), found.icon] : null;
};

const itemHits = (visit: Visit, items: readonly Item[]): Hit[] =>
  items.flatMap((item) => {
    const [href, name] = itemHref(visit, item) ?? [];
    const { label, type, detail } = item;
    const kind = [KINDS[type] ?? type, detail].filter((one) => one).join(' · ');
    return href && name ? [{ href, label, kind, icon: name, ...resourceOf(item) }] : [];
  });

/** Returns the forms whose titles contain the query. A form about an agent first asks which agent it is about. */
const formHits = (visit: Visit, query: string): Hit[] => {
  if (query.length < MIN_TITLE_QUERY) return [];
  const { tenant_id } = visit.params;
  const isHere = ({ path }: Operation) => path.includes(':tenant_id') === (tenant_id !== undefined);
  return Object.entries(visit.rows as unknown as Readonly<Record<string, Operation>>)
    .filter(([, row]) => !isRead(row) && isHere(row) && containsWords(row.summary, query) && mayOpenForm(visit, row))
    .slice(0, MAX_FORMS)
    .map(([operation, { summary }]): Hit => {
      const parameters = tenant_id === undefined ? '' : `?${new URLSearchParams({ tenant_id })}`;
      return { href: `/console/run/${operation}${parameters}`, label: summary, kind: 'form', icon: 'plus' };
    });
};

/** Returns a link to the deliveries with the text as the provider's id, if nothing else was found. */
const deliveryHits = ({ params, may }: Visit, query: string): Hit[] =>
  params.tenant_id === undefined || query === '' || !may('tenant:integrations:read')
    ? []
    : [
        {
          href: tenantPath(params.tenant_id, `/deliveries?${new URLSearchParams({ provider_delivery_id: query })}`),
          label: `Search the deliveries for “${query}”`,
          kind: "the provider's id",
          icon: 'inbox',
        },
      ];

const asks = (visit: Visit) => {
  const { ask, rows, params, may } = visit;
  const q = queryOf(visit);
  const { tenant_id } = params;
  return {
    items: tenant_id && q !== '' ? ask(rows.autocomplete, { tenant_id, q, limit: MAX_ITEMS }) : NOT_ASKED,
    tenants: may('platform') && q !== '' ? ask(rows.listTenants, { q, limit: 10 }) : NOT_ASKED,
  };
};

type Found = { readonly [Name in keyof ReturnType<typeof asks>]: Awaited<ReturnType<typeof asks>[Name]> };

const hitRow = ({ href, label, kind, icon: name, resource }: Hit) =>
  li(
    resource ? { 'data-kind': resource[0], 'data-id': resource[1] } : null,
    a({ href, class: 'row-link' }, icon(name), span({ class: 'event' }, label), span({ class: 'quiet' }, kind)),
  );

const nothingText = (query: string): string =>
  query === '' ? 'Type a name or an id.' : `Nothing that you may see has the name or id “${query}”.`;

const view = ({ items, tenants }: Found, visit: Visit) => {
  const query = queryOf(visit);
  const hits = [
    ...(items?.ok ? itemHits(visit, items.value) : []),
    ...pageHits(visit, query),
    ...tenantHits(visit, query, tenants?.ok ? tenants.value : []),
    ...formHits(visit, query),
    ...guideHits(visit, query),
  ];
  const seen = [...new Map(hits.map((hit) => [hit.href, hit])).values()];
  const shown = seen.length > 0 ? seen : deliveryHits(visit, query);
  return [
    heading('Find', 'Pages, forms, agents, people, integrations, sessions, guides, and anything by its id.'),
    searchField(visit.path, { name: 'q', value: query, placeholder: 'Name or id' }),
    items && !items.ok ? problemPanel(items.problem) : null,
    seen.length > 0 ? null : emptyState({ icon: 'search', title: 'Nothing found', why: nothingText(query) }),
    shown.length > 0 ? ul({ class: 'hits', id: 'found' }, ...shown.map(hitRow)) : null,
  ];
};

/**
 * The page that searches the pages, forms and resources of a tenant. The command palette (Ctrl K) shows its results.
 */
export const findPage = page({
  path: '/console/t/:tenant_id/find',
  permit: 'tenant:read',
  nav: '',
  asks,
  title: () => 'Find',
  view,
});

/** The page that searches pages, forms and tenants, for visitors who are not on a tenant's page. */
export const findAnywherePage = page({ path: '/console/find', permit: 'any', nav: '', asks, title: () => 'Find', view });
