import fc from 'fast-check';
import * as Blackout from '../../domain/schedule/blackout.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import { parseCron } from '../../infra/cron-expression.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { NOW, repeated } from '../fixtures/repeated-decisions.ts';

const word = fc.constantFrom('one', 'two');
const nullable = <T>(some: fc.Arbitrary<T>) => fc.option(fc.option(some, { nil: null }), { nil: undefined });
const context = { agent_id: 'a', at: NOW, parseCron };
const LATER = '2026-01-02T00:00:00.000Z';

const holidays: Blackout.BlackoutFields = {
  ...{ name: 'one', start_date: '2026-12-24', end_date: '2026-12-26' },
  ...{ agent_id: null, reason: null, recurring_yearly: false, timezone: 'UTC' },
};
const day = fc.constantFrom('2026-12-24', '2026-12-25', '2026-12-26');

const jobFields = { ...CronJob.initial, name: 'one', agent_id: 'a', target: 'a', cron_expr: '0 9 * * *' };
const runsOf = (kind: CronJob.CronJob['kind']) =>
  repeated(CronRun, [], {
    'schedule/cron-run.ts skip': fc.constant(CronRun.skip({ ...CronJob.initial, kind }, LATER, null)),
    'schedule/cron-run.ts decide': fc
      .record({ isMissed: fc.boolean(), isSuppressed: fc.boolean() })
      .map(({ isMissed, isSuppressed }) =>
        CronRun.decide(
          { ...CronJob.initial, kind, target_kind: 'external_url' },
          { due_at: LATER, next: null, isMissed },
          isSuppressed ? { reason: 'overlap', blackout_id: null } : null,
        ),
      ),
    'schedule/cron-run.ts recordAttempt': fc
      .record({
        number: fc.constantFrom(1, 2),
        error: fc.constantFrom(null, 'The target answered 503'),
        max_retries: fc.constantFrom(0, 1),
      })
      .map(({ number, error, max_retries }) =>
        CronRun.recordAttempt({ ...CronJob.initial, kind, max_retries }, number, { status_code: null, error, ms: 1 }, NOW),
      ),
    'schedule/cron-run.ts recordSent': fc.constant(CronRun.recordSent({ delivery_id: 'd', message_id: 'm' }, LATER)),
    'schedule/cron-run.ts requestRun': fc.constant(CronRun.requestRun({ ...CronJob.initial, target_kind: 'external_url' }, NOW)),
  });

const decisions: AreaCases['decisions'] = [
  repeated(CronJob, [], {
    'schedule/cron-job.ts create': fc.constant(CronJob.create(jobFields, NOW, parseCron)),
    'schedule/cron-job.ts update': fc
      .record({ name: nullable(word), cron_expr: fc.constantFrom('0 9 * * *', '0 10 * * *'), max_retries: nullable(fc.constantFrom(1, 3)) })
      .map((changes) => CronJob.update(changes, context)),
    'schedule/cron-job.ts pause': fc.constant(CronJob.pause('a')),
    'schedule/cron-job.ts resume': fc.constant(CronJob.resume(context)),
    'schedule/cron-job.ts remove': fc.constant(CronJob.remove('a')),
  }),
  runsOf('one_shot'),
  runsOf('recurring'),
  repeated(Blackout, [], {
    'schedule/blackout.ts declare': fc.constant(Blackout.declare(holidays)),
    'schedule/blackout.ts change': fc
      .record({ name: nullable(word), end_date: nullable(day), recurring_yearly: nullable(fc.boolean()) })
      .map((changes) => Blackout.change(changes)),
    'schedule/blackout.ts lift': fc.constant(Blackout.lift),
  }),
];

export const cases: AreaCases = { decisions };
