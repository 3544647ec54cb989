import { agentCalls, agentParams, agentTab, agentTrail } from '../../console/agent-frame.ts';
import { page } from '../../console/page.ts';
import { card } from '../../console/parts/facts.ts';
import { historyList } from '../../console/parts/history.ts';
import { pager } from '../../console/parts/pager.ts';
import { withQuery } from '../../console/visit.ts';

/**
 * The page with all events of an agent, newest first. For each event, it shows the fields that the event has changed.
 */
export const agentHistoryPage = page({
  path: '/console/t/:tenant_id/agents/:agent_id/history',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent'],
  asks: (visit) => {
    const cursor = visit.query.get('cursor');
    return {
      ...agentCalls(visit),
      history: visit.ask(visit.rows.readAgentHistory, { ...agentParams(visit), ...(cursor ? { cursor } : {}) }),
    };
  },
  title: () => 'History',
  trail: agentTrail('History'),
  view: ({ agent, may, history }, visit) =>
    agentTab(visit, 'History', { agent, may }, () => [
      card('History', historyList(history)),
      pager(history, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next })),
    ]),
});
