import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { AttemptReportEvent } from '../../domain/runners/attempt-report.ts';
import { createAttemptRecorder } from '../../infra/platform/attempt-recorder.ts';
import { lastReportFields, storedReport } from '../../projections/deliveries/delivery-reports.ts';
import { agentOf, deliveryOf, TENANT } from '../fixtures/generated-log.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

/** More attempts than the recorder knows. They have the same texts, so it knows these texts all the time. */
const MANY = 20_000;

test('if an attempt was evicted from memory, a repeated report of it has its texts, and no reference to itself', async () => {
  const log = memoryLog();
  const record = createAttemptRecorder({ log, now: Date.now });
  const send = (attempt: number) =>
    record(TENANT, {
      agent_id: agentOf(0),
      report: { delivery_id: deliveryOf(0), attempt, seconds: 1 },
      texts: { reason: 'no', stderr_tail: null },
      problem: '0123456789abcdef',
      seal: async () => `sealed for ${attempt}`,
    });
  await send(1);
  await Promise.all(Array.from({ length: MANY }, (_, index) => send(index + 2)));
  await send(1);
  const reports = log.events.flatMap((event) => (event.data as AttemptReportEvent['data']).reports);
  const [first, second] = [reports[0]!, reports[1]!];
  assert.equal([first.sealed, second.sealed, second.same_as], ['sealed for 1', undefined, 1]);
  const { sealed, same_as } = reports.at(-1)!;
  assert.equal([reports.length, sealed, same_as], [MANY + 2, 'sealed for 1', undefined]);
});

test('a report has the problem of its own exit code, even if its texts equal those of an earlier attempt', async () => {
  const log = memoryLog();
  const record = createAttemptRecorder({ log, now: Date.now });
  const codes = ['1', '1', '2', '2'];
  for (const [index, code] of codes.entries())
    await record(TENANT, {
      agent_id: agentOf(0),
      report: { delivery_id: deliveryOf(0), attempt: index + 1, code, seconds: 1 },
      texts: { reason: 'no', stderr_tail: null },
      problem: `problem of ${code}`,
      seal: async () => 'sealed',
    });
  const reports = log.events.flatMap((event) => (event.data as AttemptReportEvent['data']).reports);
  assert.equal(
    reports.map(({ same_as, problem }) => [same_as, problem]),
    [
      [undefined, 'problem of 1'],
      [1, undefined],
      [1, 'problem of 2'],
      [1, 'problem of 2'],
    ],
  );
  const causation = [{ event_id: 'first' }];
  const stored = reports.map((report) => storedReport(report, { tenant: TENANT, at: '2026-01-01T00:00:00.000Z', revision: 0 }));
  assert.is(lastReportFields({ reports: stored, causation }).problem, 'problem of 2');
  const old = stored.map((report) => (report.same_as === null ? report : { ...report, problem: null }));
  assert.is(lastReportFields({ reports: old, causation }).problem, 'problem of 1', 'an older report has only that of its texts');
});

test.run();
