import type { Rows } from '../../areas.ts';
import { agentNames, membersAmong, namesIn, type People, peopleIn } from '../../console/names.ts';
import { page } from '../../console/page.ts';
import { memberName, type Names } from '../../console/parts/access-parts.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { type FilterField, filterForm, valuesIn } from '../../console/parts/filter-form.ts';
import { filterTabs } from '../../console/parts/filters.ts';
import { heading } from '../../console/parts/heading.ts';
import { wordsOf } from '../../console/parts/history.ts';
import { pager } from '../../console/parts/pager.ts';
import { problemPanel } from '../../console/parts/problem-panel.ts';
import { abbreviated } from '../../console/parts/short-id.ts';
import { tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { a, div, span } = tags;

type Event = ReplyOf<Rows['listEvents']>[number];
type Actor = { readonly kind?: string; readonly id?: string };

const FILTERS: readonly FilterField[] = [
  { name: 'stream', label: 'Stream', placeholder: 'agent-* or a whole name' },
  { name: 'type', label: 'Type', placeholder: 'AgentUpdated' },
  { name: 'correlation_id', label: 'Request', placeholder: 'X-Request-Id' },
  { name: 'at', label: 'From the time on', placeholder: 'yesterday 9:00' },
  { name: 'from_position', label: 'From position', placeholder: '48211:48211' },
  { name: 'to_position', label: 'To position', placeholder: '48300:48300' },
];
const NAMES = FILTERS.map(({ name }) => name);

/** Returns the order of the list from the URL; by default, newest first. */
const orderOf = ({ query }: Visit) => (query.get('order') ?? 'newest') as 'newest' | 'oldest';

const actorIn = ({ metadata }: Event): Actor => (metadata as { actor?: Actor }).actor ?? {};

type Known = { readonly agents: Names; readonly people: People };

const actorOf = (event: Event, { agents, people }: Known): string => {
  const { kind, id = '' } = actorIn(event);
  if (kind === 'system') return agents.get(id) ?? `the platform (${id.replaceAll('-', ' ')})`;
  if (kind === 'agent') return agents.get(id) ?? 'an agent';
  const member = people.get(id);
  return member ? memberName(member) : member === null ? 'not a member' : 'a person';
};

/** What the streams of these categories are about, where the category does not say it in words. */
const CATEGORIES: Readonly<Record<string, string>> = {
  acknowledgement: 'runner attempts',
  apikey: 'API key',
  budget: 'budget of an hour',
  cronjob: 'cron job',
  cronrun: 'run of a cron job',
  deliverybody: 'body of a delivery',
  rejection: 'rejected deliveries',
  runnercredential: 'credential of a runner',
  skillwebhook: 'webhook of a skill',
};

/** Returns a short name of a stream: what it is about, and a shortened id. */
export const shortStream = (stream: string): string => {
  const [category = '', rest = ''] = stream.split(/-(.*)/s);
  return `${CATEGORIES[category] ?? category} ${abbreviated(rest.slice(rest.indexOf('.') + 1))}`;
};

/** Shows a position whose halves are equal once: `48211` instead of `48211:48211`. */
const onceOf = (position: string): string => {
  const [commit = '', prepare] = position.split(':');
  return commit === prepare ? commit : position;
};

const eventTable = (events: readonly Event[], tenant_id: string, known: Known) =>
  dataTable<Event>(
    {
      ...{ title: 'Events', kind: 'event', nameTitle: 'Event', id: ({ id }) => id, name: ({ type }) => wordsOf(type) },
      href: ({ id }) => tenantPath(tenant_id, `/events/${id}`),
      details: ({ stream, revision }) => span({ title: stream }, `${shortStream(stream)}, event ${revision}`),
      columns: [
        { title: 'By', cell: (event) => actorOf(event, known) },
        { title: 'Position', cell: ({ position }) => span({ class: 'mono', title: position }, onceOf(position)) },
        { title: 'Recorded', look: 'number', cell: ({ at }) => ago(at) },
      ],
      attributes: ({ position }) => ({ 'data-position': position }),
    },
    events,
  );

const orders = (visit: Visit) => {
  const linkTo = (order: string) => withQuery(visit, { order, cursor: null });
  return filterTabs('Order', orderOf(visit), [
    { value: 'newest', label: 'Newest first', href: linkTo('newest') },
    { value: 'oldest', label: 'Oldest first', href: linkTo('oldest') },
  ]);
};

/** The page with the events of a tenant as they are stored in the log. */
export const eventListPage = page({
  path: '/console/t/:tenant_id/events',
  permit: 'tenant:audit:read',
  nav: 'Events',
  categories: '*',
  asks: (visit) => {
    const sent = { ...valuesIn(visit.query, [...NAMES, 'cursor']), order: orderOf(visit), tenant_id: visit.params.tenant_id! };
    const events = visit.ask(visit.rows.listEvents, sent);
    const usersIn = (found: readonly Event[]) => found.map(actorIn).map(({ kind, id }) => (kind === 'user' ? id : null));
    return {
      events,
      people: events.then((found) => (found.ok ? membersAmong(visit, usersIn(found.value)) : null)),
      agents: agentNames(visit),
    };
  },
  title: () => 'Events',
  view: ({ events, people, agents }, visit) => {
    const known = { agents: namesIn(agents), people: peopleIn(people) };
    const filters = valuesIn(visit.query, NAMES);
    const isFiltered = Object.keys(filters).length > 0;
    const list = () => {
      if (!events.ok) return problemPanel(events.problem);
      if (events.value.length > 0) return eventTable(events.value, visit.params.tenant_id!, known);
      const title = isFiltered ? 'No event matches' : 'No events here';
      const why = isFiltered ? 'Nothing matches the filters of this page.' : 'Every change of this tenant appears here.';
      return emptyState(
        { icon: 'list-tree', title, why },
        a({ class: 'button', href: visit.path }, isFiltered ? 'Clear the filters' : 'To the newest'),
      );
    };
    const labels = orderOf(visit) === 'newest' ? undefined : { first: 'Oldest', next: 'Newer' };
    return [
      heading('Events', 'Every event as the log stores it. Secrets and sealed contents are encrypted.'),
      div({ class: 'toolbar' }, orders(visit), filterForm(visit.path, FILTERS, filters, { order: orderOf(visit) })),
      list(),
      pager(events, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next }), labels),
    ];
  },
});
