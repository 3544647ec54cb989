import type { Rows } from '../../areas.ts';
import { agentCalls, agentParams, agentTab, agentTrail, mayOf } from '../../console/agent-frame.ts';
import { askWhetherItAnswers, composeNotes } from '../../console/compose-notes.ts';
import { NOT_ASKED, page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card } from '../../console/parts/facts.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago, tookText } from '../../console/parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { mayAct, startForm } from './chat-forms.ts';

const { a, div } = tags;

type Session = Pick<ReplyOf<Rows['listSessions']>[number], 'id' | 'title' | 'status' | 'created_at' | 'completed_at'>;

const RECENT = 50;
const sessionTable = (found: readonly Session[], visit: Visit): Child =>
  found.length === 0
    ? emptyState({
        icon: 'message-square',
        title: 'No sessions',
        why: 'The runner of the agent starts a session when it works on something.',
      })
    : dataTable<Session>(
        {
          ...{
            title: 'Sessions',
            kind: 'session',
            nameTitle: 'Session',
            id: ({ id }) => id,
            name: ({ title }) => title ?? 'Untitled session',
          },
          href: ({ id }) => tenantPath(visit.params.tenant_id!, `/sessions/${id}`),
          columns: [
            { title: 'State', look: 'state', cell: ({ status }) => badge(status) },
            { title: 'Took', look: 'number', cell: tookText },
            { title: 'Started', look: 'number', cell: ({ created_at }) => ago(created_at) },
          ],
        },
        found,
      );

/**
 * The page with the sessions of an agent, newest first. Visitors who may read all sessions of the tenant get a link to
 * the list of these.
 */
export const agentSessionsPage = page({
  path: '/console/t/:tenant_id/agents/:agent_id/sessions',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent', 'session', 'budget'],
  // Above the form of a start, the page says whether a runner is connected.
  polls: ({ presence }) => presence?.ok ?? false,
  asks: (visit: Visit) => {
    const { ask, rows, query } = visit;
    const path = agentParams(visit);
    const { agent, may } = agentCalls(visit);
    const cursor = query.get('cursor');
    const isAuditor = visit.may('tenant:audit:read');
    // Without the permission, the call would be recorded as a refused access.
    const own = may.then((effective) =>
      !isAuditor && mayOf(effective)('agent:chat:read') ? ask(rows.listSessions, { ...path, ...(cursor ? { cursor } : {}) }) : null,
    );
    const answering = askWhetherItAnswers(
      visit,
      may.then((effective) => (mayAct(visit, mayOf(effective)) ? path.agent_id : null)),
    );
    return {
      ...{ agent, may, own, presence: answering.presence, hours: answering.hours },
      audited: isAuditor ? ask(rows.listTenantSessions, { ...path, per_page: RECENT }) : NOT_ASKED,
    };
  },
  title: () => 'Sessions',
  trail: agentTrail('Sessions'),
  view: ({ agent, may, own, audited, presence, hours }, visit) =>
    agentTab(visit, 'Sessions', { agent, may }, ({ id }, onAgent) => {
      const notes = composeNotes({ agent, presence, hours }, { visit, agent_id: id, onAgent });
      const start = mayAct(visit, onAgent) ? card('Start a session', notes, startForm(visit, id)) : null;
      const all = tenantPath(visit.params.tenant_id!, `/sessions?agent_id=${id}`);
      if (audited)
        return [
          start,
          panel(audited, ({ items }) => sessionTable(items, visit)),
          div({ class: 'actions' }, a({ class: 'more', href: all }, 'All of this agent, with filters')),
        ];
      if (own)
        return [
          start,
          panel(own, (found) => sessionTable(found, visit)),
          pager(own, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
        ];
      return [
        emptyState({ icon: 'message-square', title: 'Not open to you', why: 'You need the permission agent:chat:read on the agent.' }),
      ];
    }),
});
