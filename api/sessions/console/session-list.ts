import type { Rows } from '../../areas.ts';
import { mayOf } from '../../console/agent-frame.ts';
import { askWhetherItAnswers, composeNotes } from '../../console/compose-notes.ts';
import type { Names as NameMap } from '../../console/name-cache.ts';
import { agentNames, chosenByName, namesIn } from '../../console/names.ts';
import { page } from '../../console/page.ts';
import { memberName, type Names } from '../../console/parts/access-parts.ts';
import { badge } from '../../console/parts/badge.ts';
import { type Choice, combobox } from '../../console/parts/combobox.ts';
import { countText } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card } from '../../console/parts/facts.ts';
import { type FilterField, filterForm, valuesIn } from '../../console/parts/filter-form.ts';
import { filterTabs } from '../../console/parts/filters.ts';
import { heading } from '../../console/parts/heading.ts';
import { icon } from '../../console/parts/icon.ts';
import { exactUsd } from '../../console/parts/money.ts';
import { pager } from '../../console/parts/pager.ts';
import { problemPanel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { mayCall } from '../../console/permission.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { mayAct, startForm } from './chat-forms.ts';

const { a, button, div, form, label, p, span } = tags;

type Session = ReplyOf<Rows['listReadableSessions']>[number];
type Effective = Answer<ReplyOf<Rows['readEffectivePermissions']>>;

const STATUSES = ['running', 'waiting', 'completed', 'failed', 'cancelled', 'expired'] as const;
const NAMES = ['agent_id', 'user_id', 'status', 'for_me', 'from', 'to'];
const START = 'start';
const MAX_PEOPLE = 200;

const isForMe = ({ query }: Visit): boolean => query.get('for_me') === 'true';

const tabs = (visit: Visit): Child => {
  const { me, query } = visit;
  const own = me?.user?.id ?? null;
  const linkTo = (changes: Readonly<Record<string, string | null>>) =>
    withQuery(visit, { user_id: null, for_me: null, status: null, cursor: null, [START]: null, ...changes });
  const isOwn = own !== null && query.get('user_id') === own;
  const current = isForMe(visit) ? 'waiting' : isOwn ? 'yours' : 'all';
  return filterTabs('Whose sessions', current, [
    ...(own === null ? [] : [{ value: 'yours', label: 'Yours', href: linkTo({ user_id: own }) }]),
    { value: 'all', label: 'All', href: linkTo({}) },
    { value: 'waiting', label: 'Waiting for you', href: linkTo({ for_me: 'true' }) },
  ]);
};

const tokens = ({ prompt_tokens, completion_tokens }: Session): string =>
  `${countText(prompt_tokens)} in, ${countText(completion_tokens)} out`;

/** Renders a table of sessions. */
export const sessionTable = (found: readonly Session[], visit: Visit) =>
  dataTable<Session>(
    {
      ...{ title: 'Sessions', kind: 'session', nameTitle: 'Session', id: ({ id }) => id, name: ({ title }) => title ?? 'Untitled session' },
      href: ({ id }) => tenantPath(visit.params.tenant_id!, `/sessions/${id}`),
      columns: [
        { title: 'State', look: 'state', cell: ({ status }) => badge(status) },
        { title: 'Agent', cell: ({ agent_name }) => agent_name ?? 'an agent' },
        { title: 'Person', cell: ({ user_name, user_email }) => user_name ?? user_email ?? span({ class: 'quiet' }, '—') },
        { title: 'Messages', look: 'number', cell: ({ message_count }) => countText(message_count) },
        { title: 'Tokens', look: 'number', cell: tokens },
        { title: 'Cost', look: 'number', cell: ({ cost_usd }) => exactUsd(cost_usd) },
        { title: 'Last message', look: 'number', cell: ({ last_message_at }) => ago(last_message_at) },
      ],
    },
    found,
  );

const nothing = (visit: Visit) => {
  if (isForMe(visit))
    return emptyState(
      { icon: 'check', title: 'Nothing waits for you', why: 'No agent waits for an answer or a decision that you may give.' },
      a({ class: 'button', href: visit.path }, 'All sessions'),
    );
  if (NAMES.some((name) => visit.query.get(name)))
    return emptyState(
      { icon: 'search', title: 'No session matches', why: 'Nothing matches the filters of this page.' },
      a({ class: 'button', href: visit.path }, 'Clear the filters'),
    );
  return emptyState(
    {
      icon: 'message-square',
      title: 'No sessions yet',
      why: 'A runner starts a session when it processes a delivery or a cron run, and people start their own. You see those of agents whose chats you may read.',
    },
    a({ class: 'button', href: tenantPath(visit.params.tenant_id!, '/agents') }, 'Open the agents'),
  );
};

/** Renders the field to choose an agent, and, once one is chosen, the form for the first message. */
const startCard = (visit: Visit, names: Names, isAllowed: boolean, notes: Child): Child => {
  const chosen = visit.query.get(START) ?? '';
  const refused = p({ class: 'quiet' }, 'You may not assign work to this agent: its owners can give you the role MANAGER.');
  const agents = chosenByName(visit, 'agent', names);
  return card(
    'Start a session',
    form(
      { method: 'get', action: visit.path, class: 'filter-bar filter-fields' },
      div(
        null,
        label({ for: 'start-agent' }, 'Agent'),
        combobox({
          ...{ id: 'start-agent', name: START, what: 'agent', value: chosen, none: 'choose', isSentAtOnce: true },
          ...{ choices: agents.choices ?? null, source: agents.source, valueName: names.get(chosen) ?? 'the chosen one' },
        }),
      ),
      div({ class: 'without-script' }, button(null, 'Choose the agent')),
    ),
    chosen === '' ? null : isAllowed ? [notes, startForm(visit, chosen)] : refused,
    div({ class: 'actions' }, a({ class: 'button ghost', href: withQuery(visit, { [START]: null }) }, 'Cancel')),
  );
};

/** The most agents whose permissions are read to find one to which the visitor may assign work. */
const MAX_CHECKED = 20;

const mayStartAny = (visit: Visit): boolean => visit.asOf === null && mayCall(visit, visit.rows.startSession, () => true);

/** Reads what the visitor may do with the first agent to which they may assign work; null if none of the checked ones is such. */
const readAssignable = async (visit: Visit, agents: Promise<Answer<NameMap>>): Promise<Effective | null> => {
  const { ask, rows, params, may } = visit;
  if (!mayStartAny(visit)) return null;
  // Administrators may assign work to all agents.
  const ids = [...namesIn(await agents).keys()].slice(0, may('tenant:settings:write') ? 1 : MAX_CHECKED);
  const found = await Promise.all(ids.map((agent_id) => ask(rows.readEffectivePermissions, { tenant_id: params.tenant_id!, agent_id })));
  return found.find((one) => mayAct(visit, mayOf(one))) ?? null;
};

const choicesOf = (names: Iterable<readonly [string, string]>): readonly Choice[] =>
  Array.from(names, ([value, name]) => ({ value, name }));

/** The page with the sessions that a visitor may read, newest first. */
export const sessionListPage = page({
  path: '/console/t/:tenant_id/sessions',
  permit: 'tenant:read',
  nav: 'Sessions',
  categories: ['session', 'agent', 'budget'],
  // Above the form of a start, the page says whether a runner is connected.
  polls: ({ presence }) => presence?.ok ?? false,
  asks: (visit: Visit) => {
    const { ask, rows, query } = visit;
    const tenant_id = visit.params.tenant_id!;
    const agent_id = query.get(START);
    const agents = agentNames(visit);
    return {
      sessions: ask(rows.listReadableSessions, { tenant_id, ...(valuesIn(query, [...NAMES, 'cursor']) as object) }),
      members: ask(rows.listMembers, { tenant_id, limit: MAX_PEOPLE }),
      agents,
      assignable: readAssignable(visit, agents),
      ...(agent_id ? { may: ask(rows.readEffectivePermissions, { tenant_id, agent_id }) } : {}),
      ...askWhetherItAnswers(visit, Promise.resolve(agent_id || null)),
    };
  },
  title: () => 'Sessions',
  view: ({ sessions, members, agents, assignable, may, agent, presence, hours }, visit) => {
    const names = namesIn(agents);
    const people = members.ok ? members.value.map((one) => [one.user_id, memberName(one)] as const) : [];
    const values = valuesIn(visit.query, NAMES);
    const fields: readonly FilterField[] = [
      { name: 'agent_id', label: 'Agent', ...chosenByName(visit, 'agent', names) },
      { name: 'user_id', label: 'Person', choices: choicesOf(people) },
      // Sessions for the visitor have one state, by which the API refuses to filter them.
      ...(isForMe(visit) ? [] : [{ name: 'status', label: 'State', options: STATUSES }]),
      { name: 'from', label: 'From', placeholder: 'yesterday 9:00' },
      { name: 'to', label: 'Until', placeholder: '2 hours ago' },
    ];
    // With more agents than are checked, the choice of one says whether the visitor may.
    const mayStart = assignable !== null || (names.size > MAX_CHECKED && mayStartAny(visit));
    const isStarting = mayStart && visit.query.has(START);
    const agent_id = visit.query.get(START) ?? '';
    const notes = may ? composeNotes({ agent, presence, hours }, { visit, agent_id, onAgent: mayOf(may) }) : null;
    const start = a({ class: 'button primary', href: withQuery(visit, { [START]: '' }) }, icon('play'), span(null, 'Start a session'));
    return [
      heading('Sessions', 'What agents worked on, message by message, and what it cost.', mayStart ? start : null),
      isStarting
        ? startCard(
            visit,
            agent?.ok ? new Map([...names, [agent_id, agent.value.name]]) : names,
            may ? mayAct(visit, mayOf(may)) : false,
            notes,
          )
        : null,
      div(
        { class: isStarting ? 'toolbar below' : 'toolbar' },
        tabs(visit),
        filterForm(visit.path, fields, values, valuesIn(visit.query, ['for_me'])),
      ),
      sessions.ok ? (sessions.value.length > 0 ? sessionTable(sessions.value, visit) : nothing(visit)) : problemPanel(sessions.problem),
      pager(sessions, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
    ];
  },
});
