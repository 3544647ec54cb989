import type { Rows } from '../../areas.ts';
import { membersAmong, type People, peopleIn } from '../../console/names.ts';
import { page } from '../../console/page.ts';
import { type AuditEntry, auditEntry, entryFacts } from '../../console/parts/audit-entry.ts';
import { auditFilters } from '../../console/parts/audit-filters.ts';
import { dayLine, dayOf } from '../../console/parts/day-line.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { type EventDetail, eventLinks, resourceLinks } from '../../console/parts/event-links.ts';
import { exportLinks } from '../../console/parts/export-links.ts';
import { valuesIn } from '../../console/parts/filter-form.ts';
import { filterTabs } from '../../console/parts/filters.ts';
import { heading } from '../../console/parts/heading.ts';
import { icon } from '../../console/parts/icon.ts';
import { jsonTree } from '../../console/parts/json-tree.ts';
import { moduleScript } from '../../console/parts/module-script.ts';
import { pager } from '../../console/parts/pager.ts';
import { problemPanel } from '../../console/parts/problem-panel.ts';
import { entryProof } from '../../console/parts/proof.ts';
import type { PathTo } from '../../console/parts/sentence.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { resourcePathFor } from '../../console/resource-path.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';

const { a, details, div, li, span, summary, ol, h2, p } = tags;

type Entries = Answer<ReplyOf<Rows['listAuditLogs']>>;

/** The filters that select something by its id, and what a chip says about each. Links of other pages set them. */
const BY_ID = {
  about: 'About',
  resource_id: 'Resource',
  agent_id: 'Agent',
  user_id: 'By',
  key_id: 'With the API key',
  resource_type: 'Kind',
} as const;
const FIELDS = ['action', 'actor', 'from', 'to'];
const FILTER_NAMES = ['category', ...FIELDS, ...Object.keys(BY_ID)];

const BY = [
  ['people', 'People'],
  ['runners', 'Runners'],
  ['platform', 'Platform'],
  ['all', 'All'],
] as const;
type By = (typeof BY)[number][0];

const CATEGORIES = [
  [null, 'Everything'],
  ['agents', 'Agents'],
  ['access', 'Access'],
  ['members', 'Members'],
  ['secrets', 'Secrets'],
  ['integrations', 'Integrations'],
  ['deliveries', 'Deliveries'],
  ['schedules', 'Schedules'],
  ['money', 'Money'],
] as const;

const ENTRIES = 100;

/** Returns whose actions the page shows: by default those of people, but everybody's if the URL selects something in particular. */
const byOf = ({ query }: Visit): By => {
  const asked = BY.find(([by]) => by === query.get('by'))?.[0];
  const isParticular = ['entry', 'action', 'actor', ...Object.keys(BY_ID)].some((name) => query.get(name));
  return asked ?? (isParticular ? 'all' : 'people');
};

/** Whether runs of equal sentences are one entry. The selected entry can be in the middle of a run. */
const isCollapsed = ({ query }: Visit): boolean => !query.has('entry') && query.get('runs') !== 'open';

const filtersOf = (visit: Visit): Readonly<Record<string, string>> => {
  const by = byOf(visit);
  return { ...valuesIn(visit.query, FILTER_NAMES), ...(by === 'all' ? {} : { by }) };
};

/** Renders the event of the entry that is selected in the URL. It has more details than the entry in the list. */
const eventOf = (answer: Answer<EventDetail>, visit: Visit): readonly Child[] => {
  if (!answer.ok) return [problemPanel(answer.problem)];
  const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
  const { data, metadata, causes, effects, resources } = answer.value;
  return [
    h2(null, 'Data'),
    jsonTree(data),
    h2(null, 'Metadata'),
    jsonTree(metadata),
    h2(null, 'Causes'),
    eventLinks(causes, at, 'It names no event as its cause.'),
    h2(null, 'Effects'),
    eventLinks(effects, at, 'No event names it as its cause.'),
    h2(null, 'Resources'),
    resourceLinks(resources, resourcePathFor(visit)),
  ];
};

const isPerson = (type: string | null): boolean => type === 'user' || type === 'member';

/** Returns the ids of the people that the sentences of entries name. */
export const peopleNamed = (entries: readonly AuditEntry[]): readonly (string | null)[] =>
  entries.flatMap(({ sentence }) => sentence.filter(({ kind }) => isPerson(kind)).map(({ id }) => id));

/** Returns the paths to what sentences name: the page of a member, an agent or a delivery; otherwise what happened to it. */
export const sentencePaths = (visit: Visit, people: People): PathTo => {
  const pathOf = resourcePathFor(visit);
  return ({ type, id }) =>
    isPerson(type) && people.get(id) ? tenantPath(visit.params.tenant_id!, `/members/${id}`) : pathOf({ type, id });
};

type Listed = { readonly visit: Visit; readonly pathTo: PathTo; readonly event: Answer<EventDetail> | undefined };

/**
 * Renders an entry of the list. Only the entry that is selected in the URL has its facts, its event and its proof: for
 * all entries, they would be most of the page.
 */
const entryOf = (entry: AuditEntry, { visit, pathTo, event }: Listed) => {
  const tenant_id = visit.params.tenant_id!;
  if (!event || visit.query.get('entry') !== entry.id) {
    const href = `${withQuery(visit, { entry: entry.id, by: byOf(visit) })}#e-${entry.id}`;
    const runPath = withQuery(visit, { action: entry.action, actor: entry.actor.id, runs: 'open', cursor: null });
    const more = [a({ class: 'button small', href }, 'Event, causes and proof')];
    return auditEntry(entry, { isOpen: false, hasDay: true, pathTo, runPath, more });
  }
  const href = tenantPath(tenant_id, `/events/${entry.id}`);
  const actions = div({ class: 'actions' }, a({ class: 'button small', href }, 'Page of the event'), entryProof(tenant_id, entry));
  return auditEntry(entry, { isOpen: true, hasDay: true, pathTo, more: [entryFacts(entry), actions, ...eventOf(event, visit)] });
};

const dayList = (entries: readonly AuditEntry[], listed: Listed): Child => {
  const { zone } = listed.visit;
  const days = entries.map((entry, index) => {
    const day = dayOf(entry, zone);
    const isFirst = index === 0 || dayOf(entries[index - 1]!, zone) !== day;
    return [isFirst ? li({ class: 'audit-day' }, dayLine(day)) : null, entryOf(entry, listed)];
  });
  return div({ class: 'card' }, ol({ class: 'history day-list' }, ...days.flat()));
};

const links = (tenant_id: string) => [
  a({ class: 'button', href: tenantPath(tenant_id, '/audit/heads') }, icon('fingerprint'), span(null, 'Heads and export')),
];

const nothing = (visit: Visit, hidden: Child) => {
  const isFiltered = FILTER_NAMES.some((name) => visit.query.get(name));
  return emptyState(
    {
      icon: 'scroll-text',
      title: isFiltered ? 'Nothing matches' : 'Nothing happened yet',
      why: 'Every change of this tenant appears here.',
    },
    hidden,
    isFiltered ? a({ class: 'button', href: visit.path }, 'Clear the filters') : null,
  );
};

const OTHERS: Readonly<Record<By, string>> = {
  people: 'of runners and the platform',
  runners: 'of people and the platform',
  platform: 'of people and runners',
  all: '',
};
/** The number at which the API stops counting. */
const MAX_HIDDEN = 5_000;

/** Says how many entries the choice of who did it hides on this page; null if there are none. */
const hiddenNote = (entries: Entries, visit: Visit): Child => {
  const hidden = Number(entries.headers.get('hidden-count') ?? 0);
  if (hidden === 0) return null;
  const number = hidden >= MAX_HIDDEN ? `${MAX_HIDDEN.toLocaleString('en')} or more` : hidden.toLocaleString('en');
  const verb = hidden === 1 ? 'entry' : 'entries';
  const text = `${number} ${verb} ${OTHERS[byOf(visit)]} ${hidden === 1 ? 'is' : 'are'} not shown`;
  return a({ href: withQuery(visit, { by: 'all', cursor: null }), class: 'quiet' }, text);
};

/** The name of what a filter selects by its id, from the entries that it has found. */
const nameIn = (entries: Entries, id: string): string | null => {
  for (const { sentence } of entries.ok ? entries.value : []) {
    const part = sentence.find((one) => one.id === id);
    if (part) return part.text;
  }
  return null;
};

const chips = (visit: Visit, entries: Entries): Child => {
  const set = Object.entries(BY_ID).filter(([name]) => visit.query.get(name));
  if (set.length === 0) return null;
  return div(
    { class: 'actions chips' },
    ...set.map(([name, label]) => {
      const value = visit.query.get(name)!;
      const shown = name === 'resource_type' ? value : (nameIn(entries, value) ?? 'what the link names');
      const href = withQuery(visit, { [name]: null, cursor: null });
      return a({ class: 'button small', href, 'aria-label': `${label}: ${shown}, remove this filter` }, `${label}: ${shown}`, icon('x'));
    }),
  );
};

const tabsOf = (visit: Visit) => [
  filterTabs(
    'Who did it',
    byOf(visit),
    BY.map(([value, label]) => ({ value, label, href: withQuery(visit, { by: value, cursor: null, entry: null }) })),
  ),
  filterTabs(
    'What about',
    visit.query.get('category'),
    CATEGORIES.map(([value, label]) => ({ value, label, href: withQuery(visit, { category: value, cursor: null, entry: null }) })),
  ),
];

/** The page with the audit log of a tenant. Its entries are shown as sentences, newest first. */
export const auditPage = page({
  path: '/console/t/:tenant_id/audit',
  permit: 'tenant:audit:read',
  nav: 'Audit log',
  categories: '*',
  asks: (visit) => {
    const { ask, rows, query } = visit;
    const tenant_id = visit.params.tenant_id!;
    const entry = query.get('entry');
    const sent = { ...filtersOf(visit), ...valuesIn(query, ['cursor']), limit: ENTRIES, collapse: isCollapsed(visit) };
    const entries = ask(rows.listAuditLogs, { tenant_id, ...sent });
    return {
      entries,
      people: entries.then((found) => (found.ok ? membersAmong(visit, peopleNamed(found.value)) : null)),
      facets: ask(rows.readAuditFacets, { tenant_id }),
      ...(entry === null ? {} : { event: ask(rows.readEvent, { tenant_id, event_id: entry }) }),
    };
  },
  title: () => 'Audit log',
  view: ({ entries, people, facets, event }, visit) => {
    const values = valuesIn(visit.query, FIELDS);
    const kept = { ...valuesIn(visit.query, ['by', 'category', ...Object.keys(BY_ID)]) };
    const pathTo = sentencePaths(visit, peopleIn(people));
    const hidden = hiddenNote(entries, visit);
    const list = () => {
      if (!entries.ok) return problemPanel(entries.problem);
      return entries.value.length === 0 ? nothing(visit, hidden) : dayList(entries.value, { visit, pathTo, event });
    };
    return [
      heading('Audit log', 'Who did what, from where. It cannot be changed afterwards.', ...links(visit.params.tenant_id!)),
      div({ class: 'toolbar audit-tabs' }, ...tabsOf(visit)),
      div(
        { class: 'toolbar' },
        auditFilters({ path: visit.path, values, kept, facets: facets.ok ? facets.value : null }),
        details(
          { class: 'filters' },
          summary({ class: 'button' }, icon('download'), span(null, 'Export')),
          p({ class: 'quiet' }, 'What the filters select, up to the position of this page. An export is itself recorded.'),
          exportLinks(visit.params.tenant_id!, entries.position, filtersOf(visit)),
        ),
        chips(visit, entries),
        entries.ok && entries.value.length > 0 && hidden ? div({ class: 'hidden-note' }, hidden) : null,
      ),
      list(),
      pager(entries, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next, entry: null })),
      moduleScript('proof-check.mjs'),
    ];
  },
});
