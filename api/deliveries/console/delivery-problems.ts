import type { Rows } from '../../areas.ts';
import { filterBar } from '../../console/filter-bar.ts';
import { agentNames, namesIn } from '../../console/names.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { countText } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { valuesIn } from '../../console/parts/filter-form.ts';
import { heading } from '../../console/parts/heading.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { reasonWords } from '../../console/parts/reason-words.ts';
import { sparkline } from '../../console/parts/sparkline.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { rangeWords, timeRangeOf } from '../../console/parts/time-range.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { deliveryViews } from './delivery-views.ts';
import { askHeld, heldCard } from './held-groups.ts';

const { a, span } = tags;

type Problem = ReplyOf<Rows['listDeliveryProblems']>[number];
type Summary = ReplyOf<Rows['summarizeDeliveries']>;
type Runner = ReplyOf<Rows['listRunners']>[number];

/** A line of the table: deliveries with the same problem, or those that wait for a runner. */
type Line = {
  readonly id: string;
  readonly why: string;
  readonly state: string;
  readonly more?: Child;
  readonly where: string;
  readonly count: number;
  readonly share: number | null;
  readonly trend: readonly number[] | null;
  readonly last: Child;
  /** The filters that select exactly these deliveries. */
  readonly filters: Readonly<Record<string, string>>;
};

const rangeOf = ({ query }: Visit) => timeRangeOf(query, '24h');

/** Says why the deliveries of a group ended like this: in the words of the runner or the rule, if they are known. */
const whyOf = ({ outcome, reason, rule, problem, example_failure }: Problem): string => {
  if (outcome === 'dead' && problem !== null) return example_failure?.reason ?? 'The reason cannot be read';
  if (outcome === 'blocked' && rule !== null && rule !== reason) return `Blocked by ${rule.replaceAll('_', ' ')}`;
  return outcome === 'dead' && reason !== 'held_too_long'
    ? `${reasonWords(reason ?? 'dead')}, without a report`
    : reasonWords(reason ?? outcome);
};

const filtersOf = ({ outcome, reason, rule, problem, agent_id, integration_id }: Problem): Readonly<Record<string, string>> => ({
  state: outcome,
  ...(outcome === 'dead' ? { problem: problem ?? 'none', ...(agent_id && { agent_id }) } : integration_id && { integration_id }),
  ...(reason !== null && problem === null && { reason }),
  ...(rule !== null && { rule }),
});

const lineOf = (problem: Problem): Line => {
  const { fingerprint, outcome, agent_name, integration_label, count, share, last_at, example_failure } = problem;
  return {
    ...{ id: fingerprint, why: whyOf(problem), state: outcome, count, share, last: ago(last_at), filters: filtersOf(problem) },
    more: outcome === 'dead' && problem.problem !== null && example_failure?.code ? `code ${example_failure.code}` : null,
    trend: problem.trend,
    where: outcome === 'dead' ? (agent_name ?? 'an agent') : (integration_label ?? 'not an integration'),
  };
};

/** The most agents whose runners are read: those for which most deliveries are queued. */
const MAX_QUEUES = 20;

/** Returns how many deliveries are queued for each agent, the largest queues first. */
const queuesIn = (queued: Answer<Summary> | null): readonly (readonly [agent_id: string, count: number])[] =>
  queued?.ok
    ? queued.value.groups.flatMap(({ key, outcomes }) => (key === null ? [] : [[key, outcomes.accepted] as const])).slice(0, MAX_QUEUES)
    : [];

/** Returns a line for each agent with queued deliveries, although none of its runners is connected. */
const stuckLines = (queued: Answer<Summary> | null, runners: readonly Runner[], agents: ReadonlyMap<string, string>): readonly Line[] =>
  queuesIn(queued).flatMap(([agent_id, count]) => {
    const runner = runners.find((one) => one.agent_id === agent_id);
    if (!runner || runner.connected_since !== null) return [];
    const line: Line = {
      ...{ id: `stuck-${agent_id}`, why: 'Waits, no runner is connected', state: 'queued', count, share: null, trend: null, last: 'now' },
      more: ['A runner was last seen ', ago(runner.last_seen_at)],
      where: agents.get(agent_id) ?? 'an agent',
      filters: { state: 'queued', agent_id, period: 'all' },
    };
    return [line];
  });

const none = (): Child => span({ class: 'quiet' }, '—');

const shareText = (share: number | null): Child =>
  share === null ? none() : share > 0 && share < 0.001 ? '<0.1 %' : `${(share * 100).toFixed(1)} %`;

const problemTable = (lines: readonly Line[], visit: Visit) => {
  const period = valuesIn(visit.query, ['period', 'from', 'to']);
  return dataTable<Line>(
    {
      ...{ title: 'Problems', kind: 'delivery-problem', nameTitle: 'Reason', id: ({ id }) => id, name: ({ why }) => why },
      href: ({ filters }) => tenantPath(visit.params.tenant_id!, `/deliveries?${new URLSearchParams({ ...period, ...filters })}`),
      details: ({ more }) => more,
      columns: [
        { title: 'State', look: 'state', cell: ({ state }) => badge(state) },
        { title: 'Where', cell: ({ where }) => where },
        { title: 'Count', look: 'number', cell: ({ count }) => countText(count) },
        { title: 'Share', look: 'number', cell: ({ share }) => shareText(share) },
        { title: '24 h', cell: ({ why, trend }) => (trend === null ? none() : sparkline({ title: `${why}, per hour`, values: trend })) },
        { title: 'Last', look: 'number', cell: ({ last }) => last },
      ],
    },
    lines,
  );
};

/** Renders what replaces the table if there are no problems in the period. */
const nothing = (visit: Visit): Child => {
  const range = rangeOf(visit);
  return emptyState(
    {
      icon: 'circle-check',
      title: `No problems ${rangeWords(range)}`,
      why: 'No delivery was rejected, blocked or given up, and none is stuck.',
    },
    a({ class: 'button', href: tenantPath(visit.params.tenant_id!, '/deliveries') }, 'To the deliveries'),
    range.key === 'own' ? a({ class: 'button', href: visit.path }, 'Clear the filters') : null,
    range.key === 'all' ? null : a({ class: 'button', href: withQuery(visit, { period: 'all', from: null, to: null }) }, 'Show all times'),
  );
};

/** The page with the problems of a tenant's deliveries, grouped by cause. */
export const deliveryProblemsPage = page({
  path: '/console/t/:tenant_id/deliveries/problems',
  permit: 'tenant:integrations:read',
  nav: 'Deliveries',
  categories: ['acknowledgement', 'attemptreport', 'delivery', 'rejection'],
  polls: true,
  withoutPast: 'Problems',
  asks: (visit) => {
    const { ask, rows, params, asOf } = visit;
    const tenant_id = params.tenant_id!;
    const queued =
      asOf === null ? ask(rows.summarizeDeliveries, { tenant_id, state: 'queued', group_by: 'agent_id' }) : Promise.resolve(null);
    return {
      problems: ask(rows.listDeliveryProblems, { tenant_id, trend: true, ...rangeOf(visit).times }),
      queued,
      runners: queued.then((found) => {
        const agents = queuesIn(found).map(([agent_id]) => agent_id);
        return agents.length === 0 ? null : ask(rows.listRunners, { tenant_id, agent_id: agents.join(',') });
      }),
      held: askHeld(visit),
      agents: agentNames(visit),
    };
  },
  title: () => 'Problems',
  trail: ({ params }) => [['Deliveries', tenantPath(params.tenant_id!, '/deliveries')]],
  view: ({ problems, queued, runners, held, agents }, visit) => {
    const stuck = runners?.ok && rangeOf(visit).key !== 'own' ? stuckLines(queued, runners.value, namesIn(agents)) : [];
    return [
      heading('Problems', 'What goes wrong with deliveries, by reason. A row leads to its deliveries.'),
      deliveryViews(visit, 'problems'),
      filterBar(visit, { fields: [], more: [], range: rangeOf(visit), kept: {} }),
      heldCard(visit, held, { agents: namesIn(agents) }),
      panel(problems, (found) => {
        const lines = [...stuck, ...found.map(lineOf).toSorted((one, other) => other.count - one.count)];
        return lines.length === 0 ? nothing(visit) : problemTable(lines, visit);
      }),
    ];
  },
});
