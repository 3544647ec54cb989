import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { counted } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { type IconName, icon } from '../../console/parts/icon.ts';
import { dayAgo, givenUpInLastDay } from '../../console/parts/last-day.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago, zoned } from '../../console/parts/time.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { a, span } = tags;

export type Attention = ReplyOf<Rows['readOverview']>['attention'][number];
type Kind = Attention['kind'];

const LOOKS = { error: ['dead', 'circle-x'], warning: ['warn', 'triangle-alert'], info: ['busy', 'info'] } as const satisfies Readonly<
  Record<Attention['severity'], readonly [string, IconName]>
>;

const because = (words: string, { reason }: Attention): string => (reason === null ? words : `${words}: ${reason}`);
const untilText = ({ until }: Attention): Child => (until === null ? null : [', until ', zoned(until, 'minute')]);

const SENTENCES: Readonly<Record<Kind, (one: Attention) => Child>> = {
  deliveries_dead: (one) => because(`${counted(one.count, 'delivery')} given up`, one),
  approval_open: (one) => because('Waits for a decision', one),
  budget_spent: (one) => [because('Budget spent', one), untilText(one), one.count > 0 ? `: ${counted(one.count, 'delivery')} held` : null],
  runner_missing: ({ count }) => `${counted(count, 'delivery')} not finished, and no runner is connected`,
  runner_failing: (one) => because(`${counted(one.count, 'delivery')} failed at the runner, and tried again`, one),
  deliveries_blocked: (one) => because(`${counted(one.count, 'delivery')} blocked, more than usual`, one),
  integration_silent: ({ since }) => ['No delivery since ', since === null ? 'a day' : zoned(since, 'minute')],
  cron_missed: ({ count }) => `${counted(count, 'run')} missed`,
  budget_near: (one) => [because('Budget nearly spent', one), untilText(one)],
  deliveries_held: (one) => [because(`${counted(one.count, 'delivery')} held`, one), untilText(one)],
  api_key_expiring: ({ reason, until }) => (reason === null ? ['The API key expires ', ago(until)] : ['The API key expired ', ago(until)]),
  secret_overlap: (one) => [because('Two secrets are accepted', one), untilText(one)],
};

/** Returns the filters of the deliveries that an item is about. */
const filtersOf = ({ kind, code, problem, subject, agent_id }: Attention): Record<string, string> => {
  const source: Record<string, string> = subject.type === 'integration' ? { integration_id: subject.id } : agent_id ? { agent_id } : {};
  const ended = { ...source, ...(code === null ? {} : { reason: code }) };
  if (kind === 'deliveries_dead') return { ...givenUpInLastDay(), ...ended, problem: problem ?? 'none' };
  if (kind === 'deliveries_blocked') return { outcome: 'blocked', ...ended, from: dayAgo() };
  return kind === 'deliveries_held' ? { status: 'held', ...source } : source;
};

const deliveriesPath = (one: Attention): string => `/deliveries?${new URLSearchParams(filtersOf(one))}`;
const agentPath = ({ agent_id }: Attention): string => `/agents/${agent_id}`;
const subjectPath = (folder: string) => (one: Attention) => `/${folder}/${one.subject.id}`;

/** The page with the cause of an item, below the pages of the tenant. */
const CAUSES: Readonly<Record<Kind, (one: Attention) => string>> = {
  deliveries_dead: deliveriesPath,
  deliveries_blocked: deliveriesPath,
  deliveries_held: deliveriesPath,
  runner_missing: agentPath,
  runner_failing: agentPath,
  budget_spent: agentPath,
  budget_near: agentPath,
  approval_open: ({ subject, example_id }) => `/sessions/${subject.id}#m-${example_id}`,
  cron_missed: (one) => `${agentPath(one)}/cron-jobs/${one.subject.id}`,
  integration_silent: subjectPath('integrations'),
  secret_overlap: subjectPath('integrations'),
  api_key_expiring: () => '/api-keys',
};

const link = (visit: Visit, path: string, label: string): Child =>
  a({ class: 'button small', href: tenantPath(visit.params.tenant_id!, path) }, label);

/** Returns the form with which the deliveries of an item are sent again or released. */
const resend = (visit: Visit, one: Attention, label: string): Child => {
  const filters = { to: new Date().toISOString(), ...filtersOf(one), tenant_id: visit.params.tenant_id! };
  return formLink(visit, visit.rows.replayTenantDeliveries, filters, label, { look: 'small' });
};

const changeBudget = (visit: Visit, { agent_id }: Attention): Child =>
  formLink(visit, visit.rows.changeAgentBudget, { tenant_id: visit.params.tenant_id!, agent_id: agent_id! }, 'Change', {
    look: 'small',
    // Managers of the agent change it on its page: their permissions on each agent are not read here.
    onAgent: () => visit.may('tenant:settings:write'),
  });

/** The next step for an item; null if the visitor may not take it. */
const STEPS: Readonly<Record<Kind, (visit: Visit, one: Attention) => Child>> = {
  deliveries_dead: (visit, one) => resend(visit, one, 'Redeliver'),
  deliveries_blocked: (visit, one) => resend(visit, one, 'Release'),
  deliveries_held: (visit) => (visit.may('tenant:integrations:read') ? link(visit, '/guardrails', 'Rules') : null),
  runner_missing: (visit, one) => link(visit, `${agentPath(one)}/runner`, 'Start one'),
  runner_failing: (visit, one) => link(visit, `/deliveries?agent_id=${one.agent_id}`, 'Deliveries'),
  budget_spent: changeBudget,
  budget_near: changeBudget,
  approval_open: (visit, one) => link(visit, CAUSES.approval_open(one), 'Decide'),
  cron_missed: (visit) => link(visit, '/schedules', 'Schedules'),
  integration_silent: (visit, { subject }) => link(visit, `/deliveries?integration_id=${subject.id}`, 'Deliveries'),
  secret_overlap: (visit, { subject }) =>
    formLink(visit, visit.rows.dropPreviousWebhookSecret, { tenant_id: visit.params.tenant_id!, id: subject.id }, 'End it', {
      look: 'small',
    }),
  // A form with the name alone would drop the limits of the key, such as that it only reads.
  api_key_expiring: (visit) => link(visit, '/api-keys', 'API keys'),
};

/** Identifies an item on a page, so that a list that is drawn again keeps its place. */
const keyOf = ({ kind, subject, code, problem, example_id }: Attention): string =>
  [kind, subject.id, code, problem, kind === 'approval_open' ? example_id : null].filter((part) => part !== null).join(' ');

/** Renders a table of what needs attention. A row leads to the cause, and has a button for the next step. */
export const attentionTable = (visit: Visit, found: readonly Attention[]): Child =>
  dataTable<Attention>(
    {
      ...{ title: 'Needs attention', kind: 'attention', nameTitle: 'What', id: keyOf, name: ({ subject }) => subject.name },
      shownName: (one) => {
        const [tone, name] = LOOKS[one.severity];
        return span(
          { class: 'attention' },
          span({ class: `tone-${tone}` }, icon(name)),
          span({ class: 'hidden' }, `${one.severity}: `),
          SENTENCES[one.kind](one),
        );
      },
      href: (one) => tenantPath(visit.params.tenant_id!, CAUSES[one.kind](one)),
      attributes: ({ kind, severity, count }) => ({ 'data-attention': kind, 'data-severity': severity, 'data-count': String(count) }),
      columns: [
        { title: 'Where', cell: ({ subject }) => subject.name },
        { title: 'Since', look: 'number', cell: ({ since, until }) => (since === null ? ago(until) : ago(since)) },
        { title: 'Next step', cell: (one) => STEPS[one.kind](visit, one) ?? span({ class: 'quiet' }, '—') },
      ],
    },
    found,
  );
