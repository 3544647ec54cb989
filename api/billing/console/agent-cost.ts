import { formLink } from '../../console/action.ts';
import { agentCalls, agentParams, agentTab, agentTrail } from '../../console/agent-frame.ts';
import { page } from '../../console/page.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { tags } from '../../console/parts/tags.ts';
import { exact } from '../../console/parts/time.ts';
import { tenantPath } from '../../console/visit.ts';
import { budgetHours } from './budget-hours.ts';

const { a, div, aside, p, strong } = tags;

const dollars = (amount: number): string => `$${amount.toFixed(amount < 1 && amount > 0 ? 4 : 2)}`;

/** The page with the costs of an agent in this month, and its hourly limit. */
export const agentCostPage = page({
  path: '/console/t/:tenant_id/agents/:agent_id/cost',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent', 'budget', 'session'],
  asks: (visit) => {
    const { ask, rows, may } = visit;
    const path = agentParams(visit);
    return {
      ...agentCalls(visit),
      budget: ask(rows.getAgentBudget, path),
      hours: ask(rows.readBudgetUsage, path),
      ...(may('tenant:billing:read') ? { costs: ask(rows.readAgentCosts, { tenant_id: path.tenant_id }) } : {}),
    };
  },
  title: () => 'Cost',
  trail: agentTrail('Cost'),
  view: ({ agent, may, budget, hours, costs }, visit) =>
    agentTab(visit, 'Cost', { agent, may }, ({ id }, onAgent) => {
      const change = formLink(visit, visit.rows.changeAgentBudget, agentParams(visit), 'Change the limit', {
        onAgent,
        returnTo: visit.path,
      });
      const month = costs
        ? panel(costs, ({ agents, period, total_cost_usd }) => {
            const own = agents.find(({ agent_id }) => agent_id === id);
            return facts({
              Cost: strong(null, dollars(own?.cost_usd ?? 0)),
              'All agents': dollars(total_cost_usd),
              From: exact(period.start),
              Until: exact(period.end),
            });
          })
        : p({ class: 'quiet' }, 'You need the permission tenant:billing:read to see costs.');
      const all = tenantPath(visit.params.tenant_id!, `/costs?agent_id=${id}`);
      const hoursOf = (found: Parameters<typeof budgetHours>[0]) =>
        div(
          { class: 'stack' },
          ...budgetHours(found, visit),
          visit.may('tenant:billing:read') ? a({ class: 'more', href: all }, 'Another period or limit') : null,
        );
      return [
        div(
          { class: 'detail' },
          div({ class: 'detail-main' }, card('This month', month), card('The last 24 hours', panel(hours, hoursOf))),
          aside(
            { class: 'detail-side', 'aria-label': 'Budget' },
            card(
              'Budget',
              panel(budget, ({ hourly_limit_usd }) =>
                facts({ 'Hourly limit': hourly_limit_usd === null ? 'none' : dollars(hourly_limit_usd) }),
              ),
              div({ class: 'actions' }, change),
            ),
          ),
        ),
      ];
    }),
});
