import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { historyLink } from '../../console/history-link.ts';
import { page } from '../../console/page.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { jsonTree } from '../../console/parts/json-tree.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { rowMenu } from '../../console/parts/row-menu.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago, exact } from '../../console/parts/time.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { agentsCard, askAgents } from './agents-with.ts';

const { aside, code, div, pre } = tags;

type Tool = ReplyOf<Rows['getTool']>;

const given = ({ params }: Visit) => ({ tool_id: params.tool_id! });
const listPath = ({ params }: Visit): string => tenantPath(params.tenant_id!, '/skills?kind=tools');

const factsOf = ({ id, name, connector, created_at, updated_at }: Tool): Child =>
  facts({
    'Called by agents as': code(null, name),
    From: connector ?? 'this tenant',
    Created: exact(created_at),
    Changed: ago(updated_at),
    Id: shortId(id, 'the id of the tool'),
  });

/** The page of a tool: what it does, and which agents have it. */
export const toolPage = page({
  path: '/console/t/:tenant_id/tools/:tool_id',
  permit: 'tenant:read',
  nav: 'Skills and tools',
  categories: ['tool', 'agent'],
  asks: (visit) => ({
    tool: visit.ask(visit.rows.getTool, { tenant_id: visit.params.tenant_id!, ...given(visit) }),
    ...askAgents(visit, given(visit)),
  }),
  title: ({ tool }) => (tool.ok ? tool.value.display_name : 'Tool'),
  trail: (visit) => [['Skills and tools', listPath(visit)]],
  view: ({ tool, agents, counts }, visit) => [
    panel(tool, (value) => {
      const target = { tenant_id: visit.params.tenant_id!, ...given(visit) };
      // The sync of a connector decides about its tools.
      const isOwn = value.connector === null;
      return div(
        { 'data-kind': 'tool', 'data-id': value.id },
        heading(
          value.display_name,
          value.description,
          isOwn ? formLink(visit, visit.rows.updateTool, target, 'Edit', { look: 'primary' }) : null,
          historyLink(visit, value.id),
          rowMenu('menu-tool', value.display_name, [
            isOwn ? formLink(visit, visit.rows.removeTool, target, 'Delete', { look: 'danger', returnTo: listPath(visit) }) : null,
          ]),
        ),
        div(
          { class: 'detail' },
          div(
            { class: 'detail-main' },
            agentsCard(visit, { agents, counts }),
            card('What it does', pre({ class: 'message-text' }, value.description_long || value.description)),
            card('Settings of an agent', jsonTree(value.input_schema)),
          ),
          aside({ class: 'detail-side', 'aria-label': 'Facts' }, card('Facts', factsOf(value))),
        ),
      );
    }),
  ],
});
