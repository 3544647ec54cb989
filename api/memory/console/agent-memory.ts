import type { Rows } from '../../areas.ts';
import { actionButton, formLink } from '../../console/action.ts';
import { agentCalls, agentParams, agentTab, agentTrail } from '../../console/agent-frame.ts';
import { membersAmong, peopleNames } from '../../console/names.ts';
import { page } from '../../console/page.ts';
import type { Names } from '../../console/parts/access-parts.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { filterTabs, searchField } from '../../console/parts/filters.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import type { MayOnAgent } from '../../console/permission.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { a, div, span } = tags;

type Entry = ReplyOf<Rows['listMemory']>[number];

const MAX_SHOWN = 400;
const ORIGINS = [
  [null, 'All'],
  ['remembered', 'Remembered'],
  ['imported', 'Imported'],
] as const;

const shownText = (text: string): string => (text.length > MAX_SHOWN ? `${[...text].slice(0, MAX_SHOWN).join('')}…` : text);

const writerOf = ({ created_by_id: by }: Entry, people: Names): Child => (by ? (people.get(by) ?? shortId(by)) : 'the agent itself');

const originOf = (entry: Entry, visit: Visit, people: Names): Child => {
  const at = (rest: string): string => tenantPath(visit.params.tenant_id!, rest);
  if (entry.import_id) return a({ href: at(`/jobs/${entry.import_id}`) }, 'an import');
  const name = 'in a session';
  const session = entry.session_id && (visit.may('tenant:audit:read') ? a({ href: at(`/sessions/${entry.session_id}`) }, name) : name);
  return [writerOf(entry, people), ' ', session ? div({ class: 'quiet' }, session) : null];
};

const actionsOf = (entry: Entry, visit: Visit, onAgent: MayOnAgent): Child => {
  if (entry.import_id) return null;
  const { rows } = visit;
  const path = agentParams(visit);
  const look = { onAgent, look: 'ghost small' } as const;
  return div(
    { class: 'actions' },
    actionButton(visit, rows.forgetMemoryEntry, { ...path, entry_id: entry.id }, 'Remove', {
      ...look,
      confirm: 'The agent no longer has this entry. It cannot be restored.',
    }),
    formLink(visit, rows.forgetMemorySince, { ...path, since: entry.created_at }, 'Remove everything since', look),
  );
};

const memoryTable = (found: readonly Entry[], visit: Visit, onAgent: MayOnAgent, people: Names): Child =>
  dataTable<Entry>(
    {
      ...{ title: 'Memory', kind: 'memory-entry', nameTitle: 'Entry', id: ({ id }) => id, name: ({ text }) => shownText(text) },
      shownName: ({ text }) => span({ class: 'full-text' }, shownText(text)),
      details: (entry) => [entry.source, actionsOf(entry, visit, onAgent)],
      columns: [
        { title: 'From', cell: (entry) => originOf(entry, visit, people) },
        { title: 'Added', look: 'number', cell: ({ created_at }) => ago(created_at) },
      ],
    },
    found,
  );

const toolbar = (visit: Visit, onAgent: MayOnAgent): Child => {
  const { query, rows } = visit;
  const [q, origin] = [query.get('q') ?? '', query.get('origin')];
  const path = agentParams(visit);
  return div(
    { class: 'toolbar' },
    filterTabs(
      'Filter by origin',
      origin,
      ORIGINS.map(([value, label]) => ({ value, label, href: withQuery(visit, { origin: value, cursor: null }) })),
    ),
    searchField(visit.path, { name: 'q', value: q, placeholder: 'Search in the memory' }, origin ? { origin } : {}),
    formLink(visit, rows.remember, path, 'Add an entry', { onAgent, icon: 'plus', next: visit.path }),
  );
};

const nothing = ({ query, path }: Visit): Child =>
  query.has('q') || query.has('origin') || query.has('cursor')
    ? emptyState(
        { icon: 'search', title: 'No entry found', why: 'A search in a large memory can continue, on the next page.' },
        a({ class: 'button', href: path }, 'Show all'),
      )
    : emptyState({ icon: 'layers', title: 'The memory is empty', why: 'It has what people import, and what the agent remembers.' });

/** The page with the memory of an agent: what people have imported, and what the agent has written itself. */
export const agentMemoryPage = page({
  path: '/console/t/:tenant_id/agents/:agent_id/memory',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent', 'memoryimport', 'agentmemory'],
  asks: (visit) => {
    const { ask, rows, query } = visit;
    const filters = Object.fromEntries(['q', 'origin', 'cursor'].flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : [])));
    const entries = ask(rows.listMemory, { ...agentParams(visit), ...filters });
    const writersIn = (found: readonly Entry[]) => found.map(({ created_by_id }) => created_by_id);
    return {
      ...agentCalls(visit),
      entries,
      people: entries.then((found) => (found.ok ? membersAmong(visit, writersIn(found.value)) : null)),
    };
  },
  title: () => 'Memory',
  trail: agentTrail('Memory'),
  view: ({ agent, may, entries, people }, visit) =>
    agentTab(visit, 'Memory', { agent, may }, (_, onAgent) => [
      toolbar(visit, onAgent),
      panel(entries, (found) => (found.length === 0 ? nothing(visit) : memoryTable(found, visit, onAgent, peopleNames(people)))),
      pager(entries, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
    ]),
});
