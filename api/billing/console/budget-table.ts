import { MAX_BUDGETS } from '../../agents/budget-state.ts';
import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import type { Names } from '../../console/name-cache.ts';
import { limitBar } from '../../console/parts/budget-bar.ts';
import { counted } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { card } from '../../console/parts/facts.ts';
import { valuesIn } from '../../console/parts/filter-form.ts';
import { usd } from '../../console/parts/money.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { budgetHours } from './budget-hours.ts';

const { a, button, div, form, input, label, p, span } = tags;

type Budget = ReplyOf<Rows['listBudgets']>[number];

const HOUR_MS = 3_600_000;

/** Says what the used amount is made of. */
const sumText = ({ used_usd, sessions_usd, settled_usd, reserved_usd }: Budget): string =>
  `Sessions ${usd(sessions_usd)} + settled ${usd(settled_usd)} + reserved ${usd(reserved_usd)} = ${usd(used_usd)}`;

const refusedText = ({ refused_sessions, refused_reservations }: Budget): Child => {
  const parts = [
    refused_sessions > 0 ? counted(refused_sessions, 'session') : null,
    refused_reservations > 0 ? counted(refused_reservations, 'reservation') : null,
  ].filter((part) => part !== null);
  return parts.length === 0 ? span({ class: 'quiet' }, 'none') : parts.join(', ');
};

const hourOf = ({ resets_at }: Budget): string => new Date(Date.parse(resets_at) - HOUR_MS).toISOString();

const budgetTable = (visit: Visit, budgets: readonly Budget[]): Child => {
  const tenant_id = visit.params.tenant_id!;
  return dataTable<Budget>(
    {
      ...{ title: 'Budgets', kind: 'budget', nameTitle: 'Agent', id: ({ agent_id }) => agent_id, name: ({ agent_name }) => agent_name },
      href: ({ agent_id }) => `${withQuery(visit, { agent_id, limit_usd: null })}#budget-hours`,
      details: sumText,
      columns: [
        { title: 'This hour', cell: (budget) => limitBar({ ...budget, hour: hourOf(budget) }) },
        { title: 'Left', look: 'number', cell: ({ left_usd }) => usd(left_usd) },
        { title: 'Refused', look: 'number', cell: refusedText },
      ],
      menu: ({ agent_id }) => [
        formLink(visit, visit.rows.changeAgentBudget, { tenant_id, agent_id }, 'Change the limit', {
          onAgent: () => visit.may('tenant:settings:write'),
          returnTo: visit.url,
        }),
        a({ class: 'button', href: tenantPath(tenant_id, `/agents/${agent_id}/cost`) }, 'Cost of the agent'),
      ],
      attributes: ({ state }) => ({ 'data-state': state }),
    },
    budgets,
  );
};

/** Renders the form for another limit: the page then shows which reservations of the agent it would have refused. */
const limitForm = (visit: Visit): Child => {
  const kept = valuesIn(visit.query, ['group_by', 'start', 'end', 'agent_id']);
  return form(
    { method: 'get', action: visit.path, class: 'filter-fields' },
    ...Object.entries(kept).map(([name, value]) => input({ type: 'hidden', name, value })),
    div(
      null,
      label({ for: 'budget-limit' }, 'With another limit, in USD per hour'),
      input({
        id: 'budget-limit',
        name: 'limit_usd',
        value: visit.query.get('limit_usd') ?? '',
        inputmode: 'decimal',
        placeholder: 'as it was',
        autocomplete: 'off',
      }),
    ),
    div(null, span(null, ' '), button(null, 'Show the hours')),
  );
};

type Budgets = {
  readonly budgets: Answer<readonly Budget[]> | null;
  /** The hours of the chosen agent; null without one. */
  readonly hours: Answer<ReplyOf<Rows['readBudgetUsage']>> | null;
  readonly names: Names;
};

/** Renders the budgets of all agents, the fullest first, and the hours of the agent that is chosen in the URL. */
export const budgetCards = (visit: Visit, { budgets, hours, names }: Budgets): readonly Child[] => {
  const name = names.get(visit.query.get('agent_id') ?? '');
  return [
    budgets &&
      div(
        { class: 'below' },
        card(
          'Hourly budgets, the fullest first',
          panel(budgets, (found) =>
            found.length === 0
              ? p({ class: 'quiet' }, 'No agent that you may see has an hourly limit.')
              : div(
                  null,
                  budgetTable(visit, found),
                  found.length < MAX_BUDGETS
                    ? null
                    : p({ class: 'quiet below' }, `At most ${MAX_BUDGETS} agents are shown: the active ones and those that changed last.`),
                ),
          ),
        ),
      ),
    hours &&
      div(
        { class: 'below', id: 'budget-hours' },
        card(
          name === undefined ? 'Hours of an agent' : `Hours of ${name}`,
          limitForm(visit),
          panel(hours, (value) => div({ class: 'below' }, ...budgetHours(value, visit, valuesIn(visit.query, ['start', 'end'])))),
        ),
      ),
  ];
};
