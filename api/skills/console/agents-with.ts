import type { Rows } from '../../areas.ts';
import { NOT_ASKED } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { counted } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card } from '../../console/parts/facts.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import type { Child } from '../../console/parts/tags.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';

type Agents = ReplyOf<Rows['listAgents']>;
type Asked = { readonly agents: Answer<Agents> | null; readonly counts: Answer<ReplyOf<Rows['countGrants']>> | null };

/** A skill or a tool. */
export type Given = { readonly skill_id: string } | { readonly tool_id: string };

/** Requests the agents that have a skill or tool, and their number. The agents of a past time are not known. */
export const askAgents = ({ ask, rows, params, query, asOf }: Visit, given: Given) => {
  const cursor = query.get('cursor');
  const path = { tenant_id: params.tenant_id! };
  const [id] = Object.values(given) as [string];
  return {
    agents: asOf === null ? ask(rows.listAgents, { ...path, ...given, sort: 'name', ...(cursor ? { cursor } : {}) }) : NOT_ASKED,
    counts: asOf === null ? ask(rows.countGrants, { ...path, id }) : NOT_ASKED,
  };
};

const agentTable = ({ params }: Visit, agents: Agents): Child =>
  dataTable<Agents[number]>(
    {
      ...{ title: 'Agents', kind: 'agent', nameTitle: 'Agent', id: ({ id }) => id, name: ({ name }) => name },
      href: ({ id }) => tenantPath(params.tenant_id!, `/agents/${id}/skills`),
      details: ({ description }) => description,
      columns: [{ title: 'State', look: 'state', cell: ({ is_active }) => badge(is_active ? 'active' : 'paused') }],
    },
    agents,
  );

/** Lists the agents that have a skill or tool, of those that the visitor may see. Null on a page that shows the past. */
export const agentsCard = (visit: Visit, { agents, counts }: Asked): Child => {
  if (agents === null) return null;
  const [count] = counts?.ok ? counts.value : [];
  const title = count?.agent_count
    ? `${counted(count.agent_count, 'agent')} ${count.agent_count === 1 ? 'has' : 'have'} it`
    : 'Agents that have it';
  const link = (cursor: string | null) => withQuery(visit, { cursor });
  const none = {
    icon: 'bot',
    title: 'No agent has it',
    why: 'The page of an agent gives it on the tab “Skills and tools”. Agents that you may not see are not counted.',
  } as const;
  return card(
    title,
    panel(agents, (found) => (found.length === 0 ? emptyState(none) : agentTable(visit, found))),
    pager(agents, !visit.query.has('cursor'), link, { first: 'First', next: 'More' }),
  );
};
