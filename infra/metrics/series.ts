import type { Metric, Registry } from 'prom-client';

// These replace the counters and histograms of prom-client, which looks up a series by its labels at every call (half a microsecond). Here,
// a caller looks up a series once and keeps it. prom-client only renders the values.

export type Labels = Readonly<Record<string, string>>;

export type Counter = { readonly add: (amount?: number) => void };
export type Histogram = { readonly observe: (value: number) => void };

export type Description<Label extends string> = {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly Label[];
};

export type Value = { readonly metricName?: string; readonly labels: Labels; readonly value: number };

/** `values` returns the series at every scrape. */
export const registerMetric = (
  registry: Registry,
  type: 'counter' | 'gauge' | 'histogram',
  { name, help }: Pick<Description<string>, 'name' | 'help'>,
  values: () => readonly Value[],
): void => {
  // prom-client renders any object with the method `get`; only its types require its own classes.
  const metric = { name, help, type, get: async () => ({ name, help, type, values: values() }) };
  registry.registerMetric(metric as unknown as Metric);
};

/** Later calls with the same label values return the same series. */
const rememberSeries = <Label extends string, Series>(create: (labels: Labels) => Series) => {
  const known = new Map<string, Series>();
  return (labels: Readonly<Record<Label, string>>): Series => {
    const key = JSON.stringify(Object.entries(labels).sort());
    const series = known.get(key) ?? create(labels);
    known.set(key, series);
    return series;
  };
};

/** The function finds or creates the series with these labels. Its value is 0 before the first `add`. */
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

/** `bounds` are upper bounds in ascending order. The function finds or creates the series with these labels. */
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
