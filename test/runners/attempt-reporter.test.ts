import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import { createAttemptReporter } from '../../infra/runner/attempt-reporter.ts';
import { createKnownSecrets } from '../../infra/runner/known-secrets.ts';
import { cloudEvent } from '../fixtures/runner-test.ts';

const AGENT = { tenant: 't', agent: 'a', slug: 's', hasRunnerKey: true };
const failedRun = (index: number) => ({ event: cloudEvent(index) as never, attempt: 1, failure: { reason: 'no' }, seconds: 1 });

for (const [name, answered, lines] of [
  ['all reports are sent: no line', [0, 1], []],
  ['one report is not sent: a line with the number', [0], ['1 report was not sent in time and may be lost']],
  ['two reports are not sent: a line with the number', [], ['2 reports were not sent in time and may be lost']],
] as const)
  test(`a runner ends, and ${name}`, async () => {
    const printed: string[] = [];
    const reportAttempt = async (_: unknown, delivery: string): Promise<void> => {
      if (!answered.some((index) => cloudEvent(index).deliveryid === delivery)) await new Promise<void>(() => {});
    };
    const report = (line: string) => void printed.push(line);
    const reporter = createAttemptReporter({ api: { reportAttempt }, agent: AGENT, secrets: createKnownSecrets([], {}), report });
    for (const index of [0, 1]) reporter.add(failedRun(index));
    await reporter.close();
    assert.equal(printed, lines);
  });

test('a runner prints one line when reports begin to get lost, and again after one has arrived', async () => {
  const printed: string[] = [];
  const reportAttempt = async (_: unknown, delivery: string): Promise<void> => {
    if (delivery !== cloudEvent(2).deliveryid) throw new Refusal('forbidden', 'no');
  };
  const report = (line: string) => void printed.push(line);
  const reporter = createAttemptReporter({ api: { reportAttempt }, agent: AGENT, secrets: createKnownSecrets([], {}), report });
  for (const index of [0, 1, 2, 3]) {
    reporter.add(failedRun(index));
    await reporter.close();
  }
  const line = 'the reason cannot be reported to the service: no';
  assert.equal(printed, [line, line]);
});

test.run();
