import type { Metric, Registry } from 'prom-client';

// The counters and histograms in this file replace those of prom-client, which looks up a series by its labels at every
// call; this takes about half a microsecond. Here, a caller looks up a series once and keeps it. prom-client only
// renders the values.

export type Labels = Readonly<Record<string, string>>;

export type Counter = { readonly add: (amount?: number) => void };
export type Histogram = { readonly observe: (value: number) => void };

/** The name, help text and label names of a metric. */
export type Description<Label extends string> = {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly Label[];
};

export type Value = { readonly metricName?: string; readonly labels: Labels; readonly value: number };

/** Registers a metric. `values` returns its series at every scrape. */
export const registerMetric = (
  registry: Registry,
  type: 'counter' | 'gauge' | 'histogram',
  { name, help }: Pick<Description<string>, 'name' | 'help'>,
  values: () => readonly Value[],
): void => {
  // prom-client renders any object that has the method `get`. Only its TypeScript types require an instance of its own
  // classes.
  const metric = { name, help, type, get: async () => ({ name, help, type, values: values() }) };
  registry.registerMetric(metric as unknown as Metric);
};

/**
 * Returns a function that creates a series at the first call with certain label values. Later calls with these values
 * return the same series.
 */
const rememberSeries = <Label extends string, Series>(create: (labels: Labels) => Series) => {
  const known = new Map<string, Series>();
  return (labels: Readonly<Record<Label, string>>): Series => {
    const key = JSON.stringify(Object.entries(labels).sort());
    const series = known.get(key) ?? create(labels);
    known.set(key, series);
    return series;
  };
};

/**
 * Registers a counter. Returns a function that finds or creates the series with these labels. Its value is 0 before the
 * first `add`.
 */
export const createCounter = <Label extends string = never>(registry: Registry, description: Description<Label>) => {
  const all: { labels: Labels; value: number }[] = [];
  registerMetric(registry, 'counter', description, () => all);
  return rememberSeries<Label, Counter>((labels) => {
    const series = { labels, value: 0 };
    all.push(series);
    return {
      add: (amount = 1) => {
        series.value += amount;
      },
    };
  });
};

type Observations = { readonly labels: Labels; readonly counts: Float64Array; sum: number };

/** Returns the cumulative buckets, the sum and the count of a series, in the form that Prometheus reads. */
const valuesOf = (name: string, bounds: readonly number[], { labels, counts, sum }: Observations): Value[] => {
  let total = 0;
  const buckets = [...counts].map((count, index) => {
    total += count;
    return { metricName: `${name}_bucket`, labels: { ...labels, le: String(bounds[index] ?? '+Inf') }, value: total };
  });
  return [...buckets, { metricName: `${name}_sum`, labels, value: sum }, { metricName: `${name}_count`, labels, value: total }];
};

/**
 * Registers a histogram. `bounds` are the upper bounds of its buckets, in ascending order. Returns a function that
 * finds or creates the series with these labels.
 */
export const createHistogram = <Label extends string = never>(
  registry: Registry,
  description: Description<Label>,
  bounds: readonly number[],
) => {
  const all: Observations[] = [];
  registerMetric(registry, 'histogram', description, () => all.flatMap((series) => valuesOf(description.name, bounds, series)));
  return rememberSeries<Label, Histogram>((labels) => {
    const series: Observations = { labels, counts: new Float64Array(bounds.length + 1), sum: 0 };
    all.push(series);
    return {
      observe: (value) => {
        let bucket = 0;
        while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
        series.counts[bucket]!++;
        series.sum += value;
      },
    };
  });
};
