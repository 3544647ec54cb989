import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { filterBar } from '../../console/filter-bar.ts';
import type { Names } from '../../console/name-cache.ts';
import { agentNames, chosenByName, integrationNames, namesIn } from '../../console/names.ts';
import { page } from '../../console/page.ts';
import type { Choice } from '../../console/parts/combobox.ts';
import { countText } from '../../console/parts/count-text.ts';
import { deliveryChart } from '../../console/parts/delivery-chart.ts';
import { deliveryTable } from '../../console/parts/delivery-row.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { type FilterField, valuesIn } from '../../console/parts/filter-form.ts';
import { heading } from '../../console/parts/heading.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel, problemPanel } from '../../console/parts/problem-panel.ts';
import { reasonWords } from '../../console/parts/reason-words.ts';
import { stateCounts } from '../../console/parts/state-counts.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { minuteText } from '../../console/parts/time.ts';
import { rangeWords, type TimeRange } from '../../console/parts/time-range.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { filtersIn, rangeOf, sentFilters, stateIn } from './delivery-filters.ts';
import { deliveryViews } from './delivery-views.ts';
import { noDeliveries } from './no-deliveries.ts';
import { askOpen, openIn, withOpen } from './open-delivery.ts';

const { a } = tags;

type Summary = ReplyOf<Rows['summarizeDeliveries']>;
type Problem = ReplyOf<Rows['listDeliveryProblems']>[number];

const BUCKETS = 48;

const MORE: readonly FilterField[] = [
  { name: 'provider_delivery_id', label: "Provider's delivery id", placeholder: '72d3162e-cc78-11e3-81ab-4c9367dc0958' },
  { name: 'matched_secret', label: 'Secret', options: ['current', 'previous'] },
];

/** Returns the events that can be chosen, with how many deliveries have each. */
const eventChoices = ({ groups }: Summary): readonly Choice[] =>
  groups.flatMap(({ key, outcomes }) => {
    const count = Object.values(outcomes).reduce((sum, one) => sum + one, 0);
    return key === null ? [] : [{ value: key, name: key, detail: countText(count) }];
  });

/** Returns the reasons that can be chosen, with how many deliveries have each. */
const reasonChoices = (problems: readonly Problem[]): readonly Choice[] =>
  [...Map.groupBy(problems, ({ reason }) => reason)].flatMap(([reason, found]) => {
    const count = found.reduce((sum, one) => sum + one.count, 0);
    return reason === null ? [] : [{ value: reason, name: reasonWords(reason), detail: countText(count) }];
  });

type Found = {
  readonly summary: Answer<Summary>;
  readonly problems: Answer<readonly Problem[]> | null;
  readonly agents: Names;
  readonly integrations: Names;
};

const fieldsOf = (visit: Visit, { summary, problems, agents, integrations }: Found): readonly FilterField[] => [
  { name: 'event', label: 'Event', choices: summary.ok ? eventChoices(summary.value) : [] },
  { name: 'integration_id', label: 'Integration', ...chosenByName(visit, 'integration', integrations) },
  { name: 'agent_id', label: 'Agent', ...chosenByName(visit, 'agent', agents) },
  { name: 'reason', label: 'Reason', choices: problems?.ok ? reasonChoices(problems.value) : [] },
];

/** Formats a time from the URL of a page. A text that is not a time stays as it is. */
const timeText = (at: string, zone: string): string => (Number.isNaN(Date.parse(at)) ? at : minuteText(at, zone));

/** Returns what is said about the filters that only links to the page set. */
const setByLinks = ({ query, zone }: Visit, problems: Found['problems']): readonly (readonly [string, string])[] => {
  const [rule, problem, provider, givenUp] = ['rule', 'problem', 'provider', 'given_up_from'].map((name) => query.get(name) || null);
  const like = problems?.ok ? problems.value.find((one) => one.problem !== null && one.problem === problem) : undefined;
  return [
    ...(rule ? [['rule', `Rule: ${rule}`] as const] : []),
    ...(problem
      ? [['problem', problem === 'none' ? 'Without a report' : (like?.example_failure?.reason ?? 'The same reason')] as const]
      : []),
    ...(provider ? [['provider', `Provider: ${provider}`] as const] : []),
    ...(givenUp ? [['given_up_from', `Given up since ${timeText(givenUp, zone)}`] as const] : []),
  ];
};

/** How many deliveries of the page can be sent again or released, of all that it selects; null if it is not known. */
const sendable = (state: string | null, { states, replayable }: Summary): number | null => {
  if (states === null || replayable === null) return null;
  if (state === 'acknowledged' || state === 'blocked') return states[state];
  return state === 'dead' ? replayable.dead : replayable.all;
};

/**
 * Returns the link to the form that sends again, or releases, all deliveries that match the filters of the page. The
 * form's filter `to` is the current time, so that its count does not change while deliveries arrive.
 */
const sendLink = (visit: Visit, summary: Answer<Summary>): Child => {
  const state = stateIn(visit);
  const filters = sentFilters(state);
  const count = summary.ok ? sendable(state, summary.value) : null;
  if (filters === null || !count) return null;
  const given = { to: new Date().toISOString(), ...filtersIn(visit), ...rangeOf(visit).times, ...filters };
  return formLink(
    visit,
    visit.rows.replayTenantDeliveries,
    { ...given, tenant_id: visit.params.tenant_id! },
    `${state === 'blocked' ? 'Release' : 'Replay'} ${countText(count)} …`,
    { icon: 'rotate-ccw', look: 'primary', returnTo: withQuery(visit, {}) },
  );
};

/**
 * Renders what replaces an empty list: how to get a first delivery, a longer period, or how to remove the filters.
 * `isFirst`: the visitor may see no delivery of any time.
 */
const nothing = (visit: Visit, range: TimeRange, { isFiltered, isFirst }: { isFiltered: boolean; isFirst: boolean }): Child => {
  if (isFirst) return noDeliveries(visit);
  const longer = a({ class: 'button', href: withQuery(visit, { period: 'all', from: null, to: null, cursor: null }) }, 'Show all times');
  const clear = a({ class: 'button', href: visit.path }, 'Clear the filters');
  if (isFiltered)
    return emptyState(
      { icon: 'search', title: 'No delivery matches', why: `Nothing ${rangeWords(range)} matches the filters of this page.` },
      clear,
      range.key === 'all' ? null : longer,
    );
  return emptyState({ icon: 'inbox', title: `No deliveries ${rangeWords(range)}`, why: 'There are earlier ones.' }, longer);
};

/** The page with the deliveries of a tenant, newest first. */
export const deliveryListPage = page({
  path: '/console/t/:tenant_id/deliveries',
  permit: 'tenant:read',
  nav: 'Deliveries',
  // A list shows nothing of sessions. The delivery beside it shows the cost of its session.
  categories: (visit) => [
    ...['delivery', 'acknowledgement', 'attemptreport', 'publication', 'rejection'],
    ...(openIn(visit) === null ? [] : ['session']),
  ],
  withoutPast: 'Deliveries',
  asks: (visit) => {
    const { ask, rows, params } = visit;
    const tenant_id = params.tenant_id!;
    const [state, { times }] = [stateIn(visit), rangeOf(visit)];
    const filters = { tenant_id, ...filtersIn(visit), ...times };
    const selected = { ...filters, ...(state !== null && { state }) };
    const deliveries = ask(rows.listTenantDeliveries, { preview: true, ...selected, ...valuesIn(visit.query, ['cursor']) });
    return {
      deliveries,
      // Whether there are deliveries of another time; only read if the list is empty.
      any: deliveries.then((found) =>
        found.ok && found.value.length === 0 ? ask(rows.listTenantDeliveries, { tenant_id, limit: 1 }) : null,
      ),
      agents: agentNames(visit),
      integrations: integrationNames(visit),
      summary: ask(rows.summarizeDeliveries, { ...filters, buckets: BUCKETS, fit: true, by_state: true, group_by: 'event' }),
      ...askOpen(visit),
      problems: visit.may('tenant:integrations:read') ? ask(rows.listDeliveryProblems, { tenant_id, ...times }) : Promise.resolve(null),
    };
  },
  title: () => 'Deliveries',
  view: ({ deliveries, any, agents, integrations, summary, problems, ...open }, visit) => {
    const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
    const [state, range] = [stateIn(visit), rangeOf(visit)];
    const isFiltered = Object.keys(filtersIn(visit)).length > 0 || state !== null || range.key === 'own';
    const names = { agents: namesIn(agents), integrations: namesIn(integrations) };
    const isBare = deliveries.ok && deliveries.value.length === 0 && !isFiltered;
    const isFirst = isBare && any?.ok === true && any.value.length === 0;
    const list = () => {
      if (!deliveries.ok) return problemPanel(deliveries.problem);
      if (deliveries.value.length === 0) return nothing(visit, range, { isFiltered, isFirst });
      return deliveryTable(deliveries.value, { tenantPath: at, ...names }, 'Deliveries');
    };
    const linkTo = (changes: Record<string, string | null>) =>
      withQuery(visit, { state: null, outcome: null, status: null, cursor: null, ...changes });
    return [
      heading('Deliveries', 'Every call of a webhook, a skill or a cron job, and what became of it.', sendLink(visit, summary)),
      deliveryViews(visit, 'all', problems?.ok ? problems.value.length : null),
      isFirst
        ? null
        : filterBar(visit, {
            fields: fieldsOf(visit, { summary, problems, ...names }),
            more: MORE,
            range,
            set: setByLinks(visit, problems),
            kept: { ...(state !== null && { state }), ...valuesIn(visit.query, state === null ? ['outcome'] : []) },
          }),
      isBare
        ? null
        : panel(summary, (value) => [
            deliveryChart(
              value,
              { title: `Deliveries ${rangeWords(range)}`, zone: visit.zone, endText: range.key === 'own' ? undefined : 'now' },
              (start, end) => withQuery(visit, { from: start, to: end, period: null, cursor: null }),
            ),
            stateCounts(value, state, (next) => linkTo({ state: next })),
          ]),
      withOpen(visit, { ...open, agents }, list()),
      pager(deliveries, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next })),
    ];
  },
});
