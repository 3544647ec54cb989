import { Registry } from 'prom-client';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createCounter, createHistogram } from '../../infra/metrics/series.ts';
import { parseScrape } from '../fixtures/scrape.ts';

const scraped = async (registry: Registry) => parseScrape(await registry.metrics());

test('a histogram counts each value in every bucket whose upper bound is at least the value, and sums the values', async () => {
  const registry = new Registry();
  const durations = createHistogram<'route'>(registry, { name: 'duration_seconds', help: 'Durations' }, [0.1, 1]);
  for (const value of [0.05, 0.1, 0.5, 7]) durations({ route: 'a' }).observe(value);
  durations({ route: 'b' }).observe(1);
  const { types, series } = await scraped(registry);
  assert.is(types.get('duration_seconds'), 'histogram');
  const ofRoute = (route: string) =>
    series
      .filter(({ labels }) => labels.route === route)
      .map(({ name, labels, value }) => `${name.replace('duration_seconds_', '')} ${labels.le ?? ''} ${value}`);
  assert.equal(ofRoute('a'), ['bucket 0.1 2', 'bucket 1 3', 'bucket +Inf 4', 'sum  7.65', 'count  4']);
  assert.equal(ofRoute('b'), ['bucket 0.1 0', 'bucket 1 1', 'bucket +Inf 1', 'sum  1', 'count  1']);
});

test('label sets that differ only in their order are the same series; a series is exported as 0 until it is counted for the first time', async () => {
  const registry = new Registry();
  const count = createCounter<'a' | 'b'>(registry, { name: 'things_total', help: 'Things' });
  count({ a: '1', b: '"\\\n' }).add();
  count({ b: '"\\\n', a: '1' }).add(2);
  count({ a: '2', b: '' });
  const { types, series } = await scraped(registry);
  assert.is(types.get('things_total'), 'counter');
  assert.equal(
    series.map(({ labels, value }) => [labels.a, labels.b, value]),
    [
      ['1', '\\"\\\\\\n', 3],
      ['2', '', 0],
    ],
  );
});

test.run();
