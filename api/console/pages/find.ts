import type { ReplyOf } from '../../http/ask.ts';
import { isRead, type Operation } from '../../http/operation.ts';
import type { Rows } from '../../routes.ts';
import { navigationOf } from '../navigation.ts';
import { page } from '../page.ts';
import { emptyState } from '../parts/empty-state.ts';
import { searchField } from '../parts/filters.ts';
import { heading } from '../parts/heading.ts';
import { type IconName, icon } from '../parts/icon.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { tags } from '../parts/tags.ts';
import { mayOpenForm } from '../permission.ts';
import { platformPath, tenantPath, type Visit } from '../visit.ts';

const { a, li, span, ul } = tags;

type Item = ReplyOf<Rows['autocomplete']>[number];
type Tenant = ReplyOf<Rows['listTenants']>[number];

/** A search result: the URL of its page, its name, and what kind of thing it is. */
type Hit = { readonly href: string; readonly label: string; readonly kind: string; readonly icon: IconName };

const MAX_FORMS = 8;
const MAX_ITEMS = '20';
const MIN_FORM_QUERY = 2;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const POSITION = /^\d{1,20}:\d{1,20}$/;

/** For each type of item with its own page: the start of the page's path, and an icon. */
const ITEM_PAGES: Readonly<Partial<Record<Item['type'], readonly [path: string, icon: IconName]>>> = {
  agent: ['/agents/', 'bot'],
  session: ['/sessions/', 'message-square'],
  delivery: ['/deliveries/', 'inbox'],
  event: ['/events/', 'list-tree'],
};

const queryOf = ({ query }: Visit): string => (query.get('q') ?? '').trim().slice(0, 255);

/** Whether every word of the query is the start of a word in the text. */
const containsWords = (text: string, query: string): boolean => {
  const words = text.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((start) => words.some((word) => word.startsWith(start)));
};

const pageHits = (visit: Visit, query: string): Hit[] => {
  const { tenant, platform } = navigationOf(visit);
  return [...tenant, ...platform]
    .filter(({ label }) => containsWords(label, query))
    .map(({ label, path, icon: name }) => ({ href: path, label, kind: 'page', icon: name }));
};

const tenantHits = ({ me }: Visit, query: string, listed: readonly Tenant[]): Hit[] => [
  ...(me?.tenants ?? [])
    .filter(({ name, slug }) => query !== '' && containsWords(`${name} ${slug}`, query))
    .map(({ id, name }): Hit => ({ href: tenantPath(id), label: name, kind: 'your tenant', icon: 'building-2' })),
  ...listed.map(({ id, name }): Hit => ({ href: platformPath(`/tenants/${id}`), label: name, kind: 'tenant', icon: 'building-2' })),
];

/** Returns links to the list of events, for a query that is the id of a request or a log position. */
const eventHits = (visit: Visit, query: string): Hit[] => {
  const { tenant_id } = visit.params;
  if (tenant_id === undefined || !visit.may('tenant:audit:read')) return [];
  const events = (parameter: string, kind: string): Hit => ({
    href: tenantPath(tenant_id, `/events?${new URLSearchParams({ [parameter]: query })}`),
    label: query,
    kind,
    icon: 'list-tree',
  });
  if (UUID.test(query)) return [events('correlation_id', 'events of this request')];
  return POSITION.test(query) ? [events('to_position', 'events up to this position')] : [];
};

const itemHits = (visit: Visit, items: readonly Item[]): Hit[] =>
  items.flatMap(({ id, label, type, detail }) => {
    const [path, name] = ITEM_PAGES[type] ?? [];
    return path && name
      ? [{ href: tenantPath(visit.params.tenant_id!, path + id), label, kind: detail ? `${type} · ${detail}` : type, icon: name }]
      : [];
  });

/** Returns the forms whose titles contain the query. A form about an agent first asks which agent it is about. */
const formHits = (visit: Visit, query: string): Hit[] => {
  if (query.length < MIN_FORM_QUERY) return [];
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

const NOT_ASKED: Promise<null> = Promise.resolve(null);

const asks = (visit: Visit) => {
  const { ask, rows, params, may } = visit;
  const q = queryOf(visit);
  const { tenant_id } = params;
  return {
    items: tenant_id && q !== '' ? ask(rows.autocomplete, { tenant_id, q, limit: MAX_ITEMS } as never) : NOT_ASKED,
    tenants: may('platform') && q !== '' ? ask(rows.listTenants, { q, limit: '10' } as never) : NOT_ASKED,
  };
};

type Found = { readonly [Name in keyof ReturnType<typeof asks>]: Awaited<ReturnType<typeof asks>[Name]> };

const hitRow = ({ href, label, kind, icon: name }: Hit) =>
  li(null, a({ href, class: 'row-link' }, icon(name), span({ class: 'event' }, label), span({ class: 'quiet' }, kind)));

const view = ({ items, tenants }: Found, visit: Visit) => {
  const query = queryOf(visit);
  const hits = [
    ...eventHits(visit, query),
    ...(items?.ok ? itemHits(visit, items.value) : []),
    ...pageHits(visit, query),
    ...tenantHits(visit, query, tenants?.ok ? tenants.value : []),
    ...formHits(visit, query),
  ];
  const seen = [...new Map(hits.map((hit) => [hit.href, hit])).values()];
  return [
    heading('Find', 'Pages, forms, agents, sessions, tenants, and anything by its id.'),
    searchField(visit.path, { name: 'q', value: query, placeholder: 'Name or id' }),
    items && !items.ok ? problemPanel(items.problem) : null,
    seen.length > 0
      ? ul({ class: 'hits', id: 'found' }, ...seen.map(hitRow))
      : emptyState({ icon: 'search', title: 'Nothing found', why: 'Nothing that you may see has this name or id.' }),
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
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view,
});

/** The page that searches pages, forms and tenants, for visitors who are not on a tenant's page. */
export const findAnywherePage = page({ path: '/console/find', permit: 'any', nav: '', asks, title: () => 'Find', view });
