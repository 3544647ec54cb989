import type { Rows } from '../../areas.ts';
import { agentNames, namesIn } from '../../console/names.ts';
import { page } from '../../console/page.ts';
import { countText } from '../../console/parts/count-text.ts';
import { deliveryTable } from '../../console/parts/delivery-row.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { figureCard } from '../../console/parts/figure-card.ts';
import { heading } from '../../console/parts/heading.ts';
import { icon } from '../../console/parts/icon.ts';
import { givenUpInLastDay } from '../../console/parts/last-day.ts';
import { usd } from '../../console/parts/money.ts';
import { panel, problemPanel } from '../../console/parts/problem-panel.ts';
import { sentenceParts } from '../../console/parts/sentence.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago, zoned } from '../../console/parts/time.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import { noDeliveries } from '../../deliveries/console/no-deliveries.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { attentionTable } from './attention.ts';

const { section, h2, div, a, li, p, span, ul } = tags;

const RECENT = 8;
const DAY_MS = 86_400_000;

type Overview = ReplyOf<Rows['readOverview']>;
type Figure = Overview['figures']['accepted'];
type AuditEntry = ReplyOf<Rows['listAuditLogs']>[number];

const titled = (title: string, more: Child, ...content: Child[]) =>
  section({ class: 'panel' }, div({ class: 'panel-head' }, h2(null, title), more), ...content);

const allLink = (href: string, label = 'All') => a({ href, class: 'more' }, label, icon('arrow-right'));

/** Returns the change against the day before: in percent where this makes sense, otherwise the difference. */
const changeText = ({ value, previous }: Figure, format: (value: number) => string = countText): string => {
  if (previous === null || value === previous) return 'as the day before';
  const sign = value > previous ? '+' : '−';
  if (previous >= 10 && value > 0) return `${sign}${countText(Math.round((Math.abs(value - previous) / previous) * 100))} %`;
  return `${sign}${format(Math.abs(value - previous))}`;
};

const figureCards = (visit: Visit, { accepted, failed, waiting, cost_usd }: Overview['figures']) => {
  const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
  const from = new Date(Date.now() - DAY_MS).toISOString();
  const deliveries = (filter: Readonly<Record<string, string>>) => `${at('/deliveries')}?${new URLSearchParams(filter)}`;
  const count = (figure: Figure) => ({ value: countText(figure.value), exact: figure.value });
  return div(
    { class: 'figures' },
    figureCard({
      ...{ name: 'accepted', title: 'Accepted', ...count(accepted), change: changeText(accepted) },
      href: deliveries({ outcome: 'accepted', from }),
      chart: { title: 'Accepted deliveries per hour', values: accepted.buckets },
    }),
    figureCard({
      ...{ name: 'failed', title: 'Given up', ...count(failed), change: changeText(failed), tone: 'dead' },
      href: deliveries(givenUpInLastDay()),
      chart: { title: 'Deliveries given up per hour', values: failed.buckets },
    }),
    figureCard({
      ...{ name: 'waiting', title: 'Not finished', ...count(waiting) },
      change: waiting.oldest_at === null ? 'nothing waits' : ['oldest ', ago(waiting.oldest_at)],
      // The list of agents shows how many deliveries are queued for each agent.
      href: at('/agents?sort=-queue'),
      chart: { title: 'Deliveries that are not finished, by the hour of their receipt', values: waiting.buckets },
    }),
    cost_usd === null
      ? null
      : figureCard({
          ...{ name: 'cost', title: 'Cost', value: usd(cost_usd.value), exact: cost_usd.value, change: changeText(cost_usd, usd) },
          href: at('/costs'),
          chart: { title: 'Cost per hour', values: cost_usd.buckets, format: usd },
        }),
  );
};

const attentionPanel = (visit: Visit, { at: checked, attention, attention_count }: Overview) => {
  const others = attention_count - attention.length;
  return titled(
    'Needs attention',
    attention_count === 0 ? null : span({ class: 'quiet', 'data-attention-count': String(attention_count) }, countText(attention_count)),
    attention.length === 0
      ? p({ class: 'note calm', 'data-calm': '' }, icon('circle-check'), 'Nothing needs attention. Checked ', zoned(checked, 'minute'), '.')
      : attentionTable(visit, attention),
    others > 0 && visit.may('tenant:integrations:read')
      ? allLink(tenantPath(visit.params.tenant_id!, '/deliveries/problems'), `All problems, ${countText(others)} more`)
      : null,
  );
};

/** The card that leads to the first acknowledged delivery. */
const firstSteps = (visit: Visit, { is_started }: Overview): Child =>
  is_started || !visit.may('tenant:integrations:write')
    ? null
    : section(
        { class: 'card first-steps', 'data-first-steps': '' },
        div(
          null,
          h2(null, 'First steps'),
          p({ class: 'quiet' }, 'No delivery was acknowledged yet. Five steps lead to one: agent, integration, runner, test delivery.'),
        ),
        a({ class: 'button primary', href: tenantPath(visit.params.tenant_id!, '/start') }, 'Go on'),
      );

const summaryOf = (visit: Visit, overview: Overview): readonly Child[] => [
  firstSteps(visit, overview),
  figureCards(visit, overview.figures),
  attentionPanel(visit, overview),
];

const changes = (found: readonly AuditEntry[], at: (rest: string) => string) =>
  found.length === 0
    ? emptyState(
        { icon: 'scroll-text', title: 'No changes by people yet', why: 'What people change in this tenant appears here.' },
        a({ href: at('/audit'), class: 'button' }, 'To the audit log'),
      )
    : ul(
        { class: 'lines' },
        ...found.map(({ id, sentence, created_at, position }) =>
          li(
            { 'data-kind': 'audit', 'data-id': id, 'data-position': position },
            span({ class: 'sentence' }, ...sentenceParts({ sentence }, undefined)),
            ago(created_at),
          ),
        ),
      );

/** The first page of a tenant: how it goes, what needs attention, and what has happened last. */
export const overviewPage = page({
  path: '/console/t/:tenant_id',
  permit: 'tenant:read',
  nav: 'Overview',
  categories: ['delivery', 'acknowledgement', 'agent', 'session', 'integration', 'apikey', 'budget', 'cronrun'],
  polls: true,
  asks: (visit) => {
    const { ask, rows, params, may, asOf } = visit;
    const tenant_id = params.tenant_id!;
    const deliveries = asOf === null ? ask(rows.listTenantDeliveries, { tenant_id, limit: RECENT, preview: true }) : Promise.resolve(null);
    return {
      // What needs attention and the deliveries have no past. A page that shows the past has only the changes.
      overview: asOf === null ? ask(rows.readOverview, { tenant_id }) : Promise.resolve(null),
      deliveries,
      // The names are read only if a delivery is shown.
      names: deliveries.then((found) => (found?.ok && found.value.length > 0 ? agentNames(visit) : null)),
      ...(may('tenant:audit:read') ? { audit: ask(rows.listAuditLogs, { tenant_id, by: 'people', limit: RECENT }) } : {}),
    };
  },
  title: () => 'Overview',
  view: ({ overview, deliveries, names, audit }, visit) => {
    const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
    const agents = namesIn(names);
    return [
      heading(
        'Overview',
        overview === null ? null : visit.tenant ? 'The last 24 hours' : 'You read this tenant as a super-admin. Each read is recorded.',
      ),
      ...(overview === null ? [] : overview.ok ? summaryOf(visit, overview.value) : [problemPanel(overview.problem)]),
      deliveries
        ? titled(
            'Latest deliveries',
            allLink(at('/deliveries')),
            panel(deliveries, (found) =>
              found.length > 0 ? deliveryTable(found, { tenantPath: at, agents }, 'Latest deliveries') : noDeliveries(visit),
            ),
          )
        : null,
      audit
        ? titled(
            'Latest changes by people',
            allLink(at('/audit')),
            panel(audit, (found) => changes(found, at)),
          )
        : null,
    ];
  },
});
