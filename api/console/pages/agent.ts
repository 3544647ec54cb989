import type { ReplyOf } from '../../http/ask.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { deliveryTable } from '../parts/delivery-row.ts';
import { emptyState } from '../parts/empty-state.ts';
import { card, facts } from '../parts/facts.ts';
import { heading } from '../parts/heading.ts';
import { historyList } from '../parts/history.ts';
import { panel, problemPanel } from '../parts/problem-panel.ts';
import { shortId } from '../parts/short-id.ts';
import { tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import type { Rows } from '../rows.ts';
import { tenantPath } from '../visit.ts';

const { div, span, code, a, aside, ol, li, p, strong } = tags;

type Agent = ReplyOf<Rows['getAgent']>;
type Presence = ReplyOf<Rows['getRunnerPresence']>;

const RECENT = 10;

const presenceFacts = ({ connected_since, last_seen_at, waiting, running, oldest_waiting_at }: Presence) =>
  facts({
    Runner: connected_since ? badge('connected') : badge('inactive', 'not connected'),
    Since: connected_since ? ago(connected_since) : null,
    'Last seen': ago(last_seen_at),
    Waiting: `${waiting} deliveries`,
    Running: `${running} deliveries`,
    'Oldest waiting': oldest_waiting_at ? ago(oldest_waiting_at) : null,
  });

const agentFacts = ({
  id,
  slug,
  kind,
  repo_url,
  code_ref,
  resource_class,
  image_ref,
  is_admin_only,
  environment_mode,
  created_at,
  updated_at,
}: Agent) =>
  facts({
    Agent: shortId(id),
    Slug: code(null, slug),
    Kind: kind,
    Repository: repo_url ? code(null, repo_url) : null,
    Code: code(null, code_ref),
    Image: image_ref ? code(null, image_ref) : null,
    Resources: resource_class,
    Environment: environment_mode,
    Access: is_admin_only ? 'administrators only' : null,
    Created: ago(created_at),
    Changed: ago(updated_at),
  });

const chainOf = (models: ReplyOf<Rows['listAgentModels']>) =>
  models.length === 0
    ? p({ class: 'quiet' }, 'No model is set.')
    : ol(
        { class: 'lines' },
        ...models.map(({ model_id, access, priority }) =>
          li(
            null,
            span(null, strong(null, priority === 0 ? 'Primary' : `Fallback ${priority}`), ' ', shortId(model_id, 'the id of the model')),
            span({ class: 'quiet' }, access.replace('_', ' ')),
          ),
        ),
      );

/** One agent: its settings, models, runner, last deliveries and history. */
export const agentPage = page({
  path: '/console/t/:tenant_id/agents/:agent_id',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent', 'delivery'],
  asks: ({ ask, rows, params }) => {
    const path = { tenant_id: params.tenant_id!, agent_id: params.agent_id! };
    return {
      agent: ask(rows.getAgent, path),
      history: ask(rows.readAgentHistory, path),
      models: ask(rows.listAgentModels, path),
      presence: ask(rows.getRunnerPresence, path),
      deliveries: ask(rows.listTenantDeliveries, { ...path, limit: RECENT }),
    };
  },
  title: ({ agent }) => (agent.ok ? agent.value.name : 'Agent'),
  trail: ({ params, tenant }) => [
    [tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)],
    ['Agents', tenantPath(params.tenant_id!, '/agents')],
  ],
  view: ({ agent, history, models, presence, deliveries }, { params }) => {
    if (!agent.ok) return [heading('Agent', null), problemPanel(agent.problem)];
    const { value } = agent;
    const at = (rest: string) => tenantPath(params.tenant_id!, rest);
    const recent = panel(deliveries, (found) =>
      found.length === 0
        ? emptyState({ icon: 'inbox', title: 'No deliveries yet', why: 'This agent has not received any, or you may not see them.' })
        : deliveryTable(found, { tenantPath: at, agents: new Map([[value.id, value.name]]) }, 'Latest deliveries'),
    );
    return [
      div(
        { 'data-kind': 'agent', 'data-id': value.id, 'data-position': agent.position },
        heading(span(null, value.name, ' ', badge(value.is_active ? 'active' : 'inactive')), value.description ?? value.slug),
        div(
          { class: 'detail' },
          div(
            { class: 'detail-main' },
            card(
              'Latest deliveries',
              recent,
              div({ class: 'actions' }, a({ class: 'more', href: at(`/deliveries?agent_id=${value.id}`) }, 'All of this agent')),
            ),
            card('History', historyList(history)),
          ),
          aside(
            { class: 'detail-side', 'aria-label': 'Facts' },
            card('Runner', panel(presence, presenceFacts)),
            card('Models', panel(models, chainOf)),
            card('Settings', agentFacts(value)),
          ),
        ),
      ),
    ];
  },
});
