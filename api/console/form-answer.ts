import type { Rows } from '../areas.ts';
import type { ReplyOf } from '../http/ask.ts';
import { cronPreview } from './cron-preview.ts';
import { answerCard } from './form-page.ts';
import { counted } from './parts/count-text.ts';
import { dataTable } from './parts/data-table.ts';
import { emptyState } from './parts/empty-state.ts';
import { card } from './parts/facts.ts';
import type { Schedule } from './parts/job-text.ts';
import { usd } from './parts/money.ts';
import { type Child, tags } from './parts/tags.ts';
import { zoned } from './parts/time.ts';
import { trialView } from './parts/trial.ts';
import { tenantPath, type Visit } from './visit.ts';

const { a, p, strong, div } = tags;

type Suppressed = ReplyOf<Rows['previewCronBlackout']>;

const MAX_SHOWN = 50;

/** The maximum number of runs per job that the preview of a blackout lists. */
const MAX_OF_JOB = 100;

/** Returns the number of suppressed runs as text. If the list of a job is cut off, the text says "At least". */
const runsText = (suppressed: Suppressed): string => {
  const isCut = [...Map.groupBy(suppressed, ({ job_id }) => job_id).values()].some(({ length }) => length >= MAX_OF_JOB);
  return `${isCut ? 'At least ' : ''}${counted(suppressed.length, 'run')}`;
};

/** The maximum number of agents whose names are shown. */
const MAX_NAMED = 200;

/** Reads the names of the jobs and agents that a blackout would affect, as far as they are shown. */
const namesOf = async ({ ask, rows, params }: Visit, shown: Suppressed): Promise<ReadonlyMap<string, string>> => {
  const tenant_id = params.tenant_id!;
  const jobs = [...new Map(shown.map(({ job_id, agent_id }) => [job_id, agent_id]))];
  const [agents, ...found] = await Promise.all([
    ask(rows.listAgents, { tenant_id, limit: MAX_NAMED }),
    ...jobs.map(([id, agent_id]) => ask(rows.getCronJob, { tenant_id, agent_id, id })),
  ]);
  const named = [...(agents.ok ? agents.value : []), ...found.flatMap((one) => (one.ok ? [one.value] : []))];
  return new Map(named.map(({ id, name }) => [id, name]));
};

const suppressedTable = (suppressed: Suppressed, names: ReadonlyMap<string, string>, tenant_id: string): Child =>
  dataTable<Suppressed[number]>(
    {
      ...{ title: 'Suppressed runs', kind: 'cron-job', nameTitle: 'Due', id: ({ job_id }) => job_id, name: ({ due_at }) => due_at },
      shownName: ({ due_at }) => zoned(due_at),
      columns: [
        {
          title: 'Job',
          cell: ({ job_id, agent_id }) =>
            a({ href: tenantPath(tenant_id, `/agents/${agent_id}/cron-jobs/${job_id}`) }, names.get(job_id) ?? 'Cron job'),
        },
        { title: 'Agent', cell: ({ agent_id }) => names.get(agent_id) ?? 'an agent' },
      ],
    },
    suppressed,
  );

/** Renders the runs that a blackout would suppress. */
const impactView = async (suppressed: Suppressed, visit: Visit): Promise<Child> => {
  const { params } = visit;
  const names = await namesOf(visit, suppressed.slice(0, MAX_SHOWN));
  const agents = new Set(suppressed.map(({ agent_id }) => agent_id)).size;
  if (suppressed.length === 0)
    return emptyState({ icon: 'circle-check', title: 'It suppresses no run', why: 'No job is due on these days.' });
  return card(
    'Impact',
    p(
      { role: 'status', 'data-impact': '' },
      strong(null, `${runsText(suppressed)} of ${counted(agents, 'agent')}`),
      ' would be suppressed.',
    ),
    div({ class: 'below' }, suppressedTable(suppressed.slice(0, MAX_SHOWN), names, params.tenant_id!)),
    suppressed.length > MAX_SHOWN ? p({ class: 'quiet' }, `The first ${MAX_SHOWN} are shown.`) : null,
  );
};

/** Renders the number of deliveries that a replay would send again. */
const countView = (total: number): Child =>
  total === 0
    ? emptyState({ icon: 'search', title: 'No delivery matches', why: 'With these filters, nothing would be sent.' })
    : card(
        'Count',
        p(
          { role: 'status', 'data-total': String(total) },
          strong(null, `${counted(total, 'delivery')} ${total === 1 ? 'matches' : 'match'}`),
          ' and would be sent again. Nothing was sent yet.',
        ),
      );

type Hours = ReplyOf<Rows['readBudgetUsage']>;

/** Renders what an agent has spent, and in how many hours a limit would have stopped it. */
const budgetView = (hours: Hours, limit: unknown): Child => {
  const used = hours.map(({ settled_usd, open_usd, sessions_usd }) => settled_usd + open_usd + sessions_usd);
  const stopped = hours.filter(({ left_usd, refused }) => refused > 0 || (left_usd !== null && left_usd <= 0)).length;
  const times = stopped === 1 ? 'hour' : 'hours';
  return card(
    'The last 7 days',
    p(null, 'This hour: ', strong(null, usd(used.at(-1) ?? 0)), '. The most in one hour: ', strong(null, usd(Math.max(0, ...used))), '.'),
    typeof limit === 'number'
      ? p(
          { role: 'status', 'data-stopped': String(stopped) },
          `With ${usd(limit)} it would have stopped in `,
          strong(null, `${stopped} ${times}`),
          ` of ${hours.length}.`,
        )
      : p({ role: 'status' }, 'Without a limit it would not have stopped.'),
  );
};

/**
 * Renders the response of an operation that changes nothing, such as a preview. It is shown beside the form. `sent` are
 * the fields of the request.
 */
export const answerView = async (operation: string, reply: unknown, visit: Visit, sent: object): Promise<Child> => {
  if (operation === 'previewCronBlackout') return impactView(reply as Suppressed, visit);
  if (operation === 'previewCronDraft') return cronPreview(visit, sent as Schedule, reply as ReplyOf<Rows['previewCronDraft']>);
  if (operation === 'tryGuardrails') return trialView(reply as ReplyOf<Rows['tryGuardrails']>, visit.params.tenant_id!);
  if (operation === 'replayTenantDeliveries' || operation === 'replayDeliveries') return countView((reply as { total: number }).total);
  if (operation === 'readBudgetUsage') return budgetView(reply as Hours, (sent as { limit_usd?: unknown }).limit_usd);
  return answerCard(reply);
};
