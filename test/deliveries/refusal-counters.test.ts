import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { cappedCounter } from '../../infra/refusals/capped-counter.ts';
import { hourlyCounter } from '../../infra/refusals/hourly-counter.ts';

type Event = { type: string; data: unknown };

/** Each counter, and how many refusals of one caller it lists before it counts. */
const counters = {
  capped: {
    listed: 60,
    create: () =>
      cappedCounter<string, Event>({
        single: (data) => ({ type: 'Single', data }),
        summed: ({ count, first, last }) => ({ type: 'Counted', data: { count, first, last } }),
        callerOf: () => 'caller',
      }),
  },
  hourly: {
    listed: 100,
    create: () =>
      hourlyCounter<string, Event>({
        listed: (data) => ({ type: 'Single', data }),
        summed: ({ count, first, last }) => ({ type: 'Counted', data: { count, first, last } }),
        callerOf: () => 'caller',
      }),
  },
};

const EARLIER = '2026-01-01T10:59:59.990Z';
const LATER = '2026-01-01T11:00:00.010Z';
const LATEST = '2026-01-01T11:00:00.020Z';

for (const [name, { listed, create }] of Object.entries(counters)) {
  test(`${name}: the times of a count are those of its first and its last refusal, in whatever order they were added`, () => {
    const counter = create();
    for (let i = 0; i < listed; i++) counter.add('listed', LATER);
    for (const at of [LATEST, LATER, EARLIER]) counter.add('counted', at);
    const counted = counter.take(LATEST, true).filter(({ event }) => event.type === 'Counted');
    assert.equal(counted, [{ event: { type: 'Counted', data: { count: 3, first: EARLIER, last: LATEST } }, at: LATEST }]);
  });

  test(`${name}: refusals of two hours that are added in turn do not get a new limit each time`, () => {
    const counter = create();
    for (let i = 0; i < 5 * listed; i++) counter.add('one', i % 2 ? LATER : EARLIER);
    const singles = counter.take(LATEST, true).flatMap(({ event }) => (event.type === 'Single' ? [event.data].flat() : []));
    assert.ok(singles.length >= listed && singles.length <= 2 * listed, `${singles.length} are listed`);
  });

  test(`${name}: after the clock was set back, counts are recorded at once, and the limit is a new one`, () => {
    const counter = create();
    for (let i = 0; i < listed + 1; i++) counter.add('ahead', '2027-01-01T00:00:00.000Z');
    const before = counter.take(EARLIER, false).filter(({ event }) => event.type === 'Counted');
    counter.add('now', EARLIER);
    assert.equal([before.length, counter.take(EARLIER, false).map(({ event }) => event.type)], [1, ['Single']]);
  });

  test(`${name}: a counter can be discarded when its last refusal was taken and its time is over`, () => {
    const counter = create();
    counter.add('one', EARLIER);
    counter.take(EARLIER, false);
    assert.is(counter.isIdle(EARLIER), false);
    counter.take(LATER, false);
    assert.is(counter.isIdle(LATER), true);
  });
}

test.run();
