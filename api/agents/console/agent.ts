import type { Rows } from '../../areas.ts';
import { actionButton, formLink } from '../../console/action.ts';
import { agentCalls, agentParams, agentTab, agentTrail } from '../../console/agent-frame.ts';
import { askNow, nowCard } from '../../console/agent-now.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { deliveryTable } from '../../console/parts/delivery-row.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { externalLinks, linksOf } from '../../console/parts/external-links.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { heldText } from '../../console/parts/held-text.ts';
import { moduleScript } from '../../console/parts/module-script.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { queueCounts } from '../../console/parts/queue-text.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import type { MayOnAgent } from '../../console/permission.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import { askHeld, heldCard } from '../../deliveries/console/held-groups.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { openApprovals } from '../../sessions/console/open-approvals.ts';
import { deletedAgent } from './deleted-agent.ts';
import { askPaused, pausedNote } from './paused-agent.ts';

const { div, span, code, a, aside, ol, li, p, strong } = tags;

type Agent = ReplyOf<Rows['getAgent']>;
type Presence = ReplyOf<Rows['getRunnerPresence']>;

const RECENT = 10;

export const presenceFacts = ({ connected_since, last_seen_at, waiting, running, oldest_waiting_at, held }: Presence) =>
  facts({
    Runner: connected_since ? badge('connected') : badge('inactive', 'not connected'),
    Since: connected_since ? ago(connected_since) : null,
    'Last seen': ago(last_seen_at),
    Queue: queueCounts({ waiting, running }),
    Held: held ? span(null, badge('held'), ' ', heldText(held)) : null,
    'Oldest waiting': oldest_waiting_at ? ago(oldest_waiting_at) : null,
  });

const agentFacts = (
  links: Child,
  { id, slug, kind, repo_url, code_ref, resource_class, image_ref, is_admin_only, environment_mode, created_at, updated_at }: Agent,
) =>
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
    'See also': links,
  });

type Models = ReplyOf<Rows['listAgentModels']>;
type Catalogue = ReplyOf<Rows['listModels']>;

/**
 * Renders the models of an agent in order of priority (the model chain). All models except the first have a button to
 * move up. They can also be dragged.
 */
const chainOf = (models: Models, catalogue: Answer<Catalogue>, visit: Visit, onAgent: MayOnAgent): Child => {
  const names = new Map(catalogue.ok ? catalogue.value.map(({ id, name }) => [id, name]) : []);
  const path = agentParams(visit);
  const look = { onAgent, returnTo: visit.path } as const;
  const ids = models.toSorted((one, other) => one.priority - other.priority).map(({ model_id }) => model_id);
  const raised = (index: number) =>
    ids
      .with(index - 1, ids[index]!)
      .with(index, ids[index - 1]!)
      .join('\n');
  const mayReorder = ids.length > 1 && onAgent('agent:settings:write') && !visit.query.has('as_of') && !visit.me?.read_only;
  const add = formLink(visit, visit.rows.reorderModelChain, path, ids.length === 0 ? 'Set the models' : 'Change the chain', {
    ...look,
    look: 'small',
  });
  if (ids.length === 0) return div({ class: 'stack' }, p({ class: 'quiet' }, 'No model is set.'), add);
  const lines = ids.map((id, index) =>
    li(
      { 'data-kind': 'model', 'data-id': id, draggable: mayReorder ? 'true' : null },
      span(
        { class: 'grow' },
        strong(null, names.get(id) ?? 'A model'),
        ' ',
        span({ class: 'quiet' }, index === 0 ? 'primary' : `fallback ${index}`),
      ),
      index === 0
        ? null
        : actionButton(visit, visit.rows.reorderModelChain, path, `Move ${names.get(id) ?? 'the model'} up`, {
            ...look,
            look: 'ghost',
            icon: 'arrow-up',
            isIconOnly: true,
            body: { model_ids: raised(index) },
          }),
    ),
  );
  const list = ol({ class: 'lines', 'data-chain': mayReorder ? '' : null }, ...lines);
  return div({ class: 'stack' }, list, mayReorder ? moduleScript('chain-order.mjs') : null, add);
};

/** The page of one agent: its last deliveries, runner, models and settings. */
export const agentPage = page({
  path: '/console/t/:tenant_id/agents/:agent_id',
  whenMissing: deletedAgent,
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent', 'delivery', 'session'],
  polls: true,
  asks: (visit) => {
    const { ask, rows } = visit;
    const path = agentParams(visit);
    const calls = agentCalls(visit);
    return {
      ...calls,
      ...askPaused(visit, calls.agent),
      tenant: ask(rows.readTenant, { tenant_id: path.tenant_id }),
      models: ask(rows.listAgentModels, path),
      catalogue: ask(rows.listModels, { tenant_id: path.tenant_id }),
      ...askNow(visit),
      approvals: ask(rows.listApprovals, { ...path, status: 'open', limit: RECENT }),
      held: askHeld(visit, path.agent_id),
      deliveries: ask(rows.listTenantDeliveries, { ...path, limit: RECENT, preview: true }),
    };
  },
  title: ({ agent }) => (agent.ok ? agent.value.name : 'Agent'),
  trail: agentTrail(null),
  view: ({ agent, may, paused, blocked, tenant, models, catalogue, approvals, held, deliveries, ...now }, visit) =>
    agentTab(visit, 'Overview', { agent, may }, (value, onAgent) => {
      const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
      const links = externalLinks(linksOf(tenant), { id: value.id, tenant_id: visit.params.tenant_id! });
      const recent = panel(deliveries, (found) =>
        found.length === 0
          ? emptyState(
              { icon: 'inbox', title: 'No deliveries yet', why: 'This agent has not received any, or you may not see them.' },
              a({ class: 'button', href: `${visit.path}/integrations` }, 'Integrations of the agent'),
            )
          : deliveryTable(found, { tenantPath: at }, 'Latest deliveries'),
      );
      return [
        div(
          { class: 'detail' },
          div(
            { class: 'detail-main' },
            pausedNote(visit, { paused, blocked }, onAgent),
            nowCard(visit, now, onAgent),
            openApprovals(visit, approvals),
            heldCard(visit, held),
            card(
              'Latest deliveries',
              recent,
              div({ class: 'actions' }, a({ class: 'more', href: at(`/deliveries?agent_id=${value.id}`) }, 'All of this agent')),
            ),
          ),
          aside(
            { class: 'detail-side', 'aria-label': 'Facts' },
            card(
              'Models',
              panel(models, (found) => chainOf(found, catalogue, visit, onAgent)),
            ),
            card('Settings', agentFacts(links, value)),
          ),
        ),
      ];
    }),
});
