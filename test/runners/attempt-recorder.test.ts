import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { AttemptReportEvent } from '../../domain/runners/attempt-report.ts';
import { createAttemptRecorder } from '../../infra/platform/attempt-recorder.ts';
import { agentOf, deliveryOf, TENANT } from '../fixtures/generated-log.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

/** More attempts than the recorder knows. They have the same texts, so it knows these texts all the time. */
const MANY = 20_000;

test('a repeated report of an attempt that is forgotten is recorded with its texts, not as the same as itself', async () => {
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

test.run();
