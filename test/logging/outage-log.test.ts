import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createOutageLog } from '../../infra/logging/outage-log.ts';
import { startDependencyWatch } from '../../infra/processes/dependency-watch.ts';
import { deadline } from '../fixtures/load-factor.ts';

type Line = readonly [level: 'warn' | 'info', fields: Record<string, unknown>, text: string];

const recordingLogger = () => {
  const lines: Line[] = [];
  const add =
    (level: Line[0]) =>
    (fields: object, text: string): void =>
      void lines.push([level, fields as Record<string, unknown>, text]);
  return { lines, logger: { warn: add('warn'), info: add('info') } as unknown as Parameters<typeof createOutageLog>[0] };
};

test('an outage is logged at its beginning, once a minute, and at its end, with cause, duration and spooled deliveries', () => {
  let now = 0;
  let spooled_deliveries = 0;
  const { lines, logger } = recordingLogger();
  const outages = createOutageLog(
    logger,
    'the event store',
    () => ({ spooled_deliveries }),
    () => now,
  );
  outages.up();
  for (; now < 150_000; now += 10_000) outages.down('refused');
  spooled_deliveries = 7;
  outages.up();
  outages.up();
  const of = (seconds: number, count: number) => ({
    service: 'the event store',
    reason: 'refused',
    down_seconds: seconds,
    spooled_deliveries: count,
  });
  assert.equal(lines, [
    ['warn', { service: 'the event store', reason: 'refused', spooled_deliveries: 0 }, 'the event store does not work'],
    ['warn', of(60, 0), 'the event store still does not work'],
    ['warn', of(120, 0), 'the event store still does not work'],
    ['info', of(150, 7), 'the event store works again'],
  ]);
});

const until = async (isTrue: () => boolean): Promise<void> => {
  for (const isOver = deadline(5_000); !isTrue() && !isOver(); ) await sleep(2);
};

test('each service of a process is watched alone; one failure is not an outage, and a rejected check is one with its reason', async () => {
  const { lines, logger } = recordingLogger();
  const answers = [null, 'once', null, 'refused', 'refused', null];
  let checks = 0;
  const watch = startDependencyWatch({
    dependencies: {
      flapping: () => answers[Math.min(checks++, answers.length - 1)]!,
      broken: () => Promise.reject(new Error('connect ECONNREFUSED')),
    },
    logger,
    intervalMs: 1,
  });
  await until(() => lines.length >= 3);
  watch.close();
  assert.equal(lines.map(([level, { service, reason }]) => [level, service, reason]).sort(), [
    ['info', 'flapping', 'refused'],
    ['warn', 'broken', 'connect ECONNREFUSED'],
    ['warn', 'flapping', 'refused'],
  ]);
});

test.run();
