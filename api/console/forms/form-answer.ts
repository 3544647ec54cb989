import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { counted } from '../parts/count-text.ts';
import { emptyState } from '../parts/empty-state.ts';
import { card } from '../parts/facts.ts';
import type { Schedule } from '../parts/job-text.ts';
import { usd } from '../parts/money.ts';
import { type Child, tags } from '../parts/tags.ts';
import { trialView } from '../parts/trial.ts';
import type { Visit } from '../visit.ts';
import { impactView } from './blackout-impact.ts';
import { cronPreview } from './cron-preview.ts';
import { answerCard } from './form-page.ts';

const { p, strong } = tags;

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
  if (operation === 'previewBlackoutImpact')
    return impactView(reply as ReplyOf<Rows['previewBlackoutImpact']>, visit, (sent as { timezone?: string }).timezone);
  if (operation === 'previewCronDraft') return cronPreview(visit, sent as Schedule, reply as ReplyOf<Rows['previewCronDraft']>);
  if (operation === 'tryGuardrails') return trialView(reply as ReplyOf<Rows['tryGuardrails']>, visit.params.tenant_id!);
  if (operation === 'replayTenantDeliveries' || operation === 'replayDeliveries') return countView((reply as { total: number }).total);
  if (operation === 'readBudgetUsage') return budgetView(reply as Hours, (sent as { limit_usd?: unknown }).limit_usd);
  return answerCard(reply);
};
