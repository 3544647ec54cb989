import { collectDefaultMetrics, Registry } from 'prom-client';
import packageJson from '../../package.json' with { type: 'json' };
import { withDeadline } from '../eventstore/deadline.ts';
import { SHARED_RESOURCES, shareRefusals } from '../threads/share-refusals.ts';
import { type Labels, registerMetric, type Value } from './series.ts';

/** For values from other services, in milliseconds. A scrape leaves out metrics that have no value by then. */
const READ_TIMEOUT_MS = 2_000;

/** `values` maps metric names to values; a metric without a value has no such series. */
export type Reading<Name extends string> = { readonly labels: Labels; readonly values: Readonly<Partial<Record<Name, number | null>>> };

/** Metrics whose values are read together. `help` maps the names of the metrics to their help texts. */
export type MetricGroup<Name extends string> = {
  readonly help: Readonly<Record<Name, string>>;
  /** Called at every scrape. If this fails or takes more than 2 s, the scrape leaves the group out. */
  readonly read: () => Promise<readonly Reading<Name>[]> | readonly Reading<Name>[];
};

export type ProcessMetrics = {
  readonly registry: Registry;
  /** A metric whose name ends in `_total` is a counter; all others are gauges. */
  readonly addGroup: <Name extends string>(group: MetricGroup<Name>) => void;
  /** Reads all values, in the text format of Prometheus. */
  readonly text: () => Promise<{ readonly contentType: string; readonly text: string }>;
};

const addBuildInfo = (registry: Registry, process: string): void => {
  const labels = { version: packageJson.version, node_version: globalThis.process.versions.node, process };
  const description = { name: 'annals_build_info', help: 'The versions of Annals and Node, as labels. The value is always 1' };
  registerMetric(registry, 'gauge', description, () => [{ labels, value: 1 }]);
};

const addShareRefusals = (registry: Registry): void => {
  const help = 'What was refused to one tenant or address that had used up its share, so that others are served';
  registerMetric(registry, 'counter', { name: 'annals_share_refused_total', help }, () =>
    SHARED_RESOURCES.map((resource) => ({ labels: { resource }, value: shareRefusals(resource) })),
  );
};

/** Creates the Prometheus metrics of a process: Node's metrics and the versions in use. Callers can add more groups. */
export const createProcessMetrics = (process: 'serve' | 'work'): ProcessMetrics => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  addBuildInfo(registry, process);
  addShareRefusals(registry);
  const updates: (() => Promise<void>)[] = [];
  return {
    registry,
    addGroup: ({ help, read }) => {
      let readings: Awaited<ReturnType<typeof read>> = [];
      const valuesOf = (name: keyof typeof help): Value[] =>
        readings.flatMap(({ labels, values }) => (values[name] == null ? [] : [{ labels, value: values[name] }]));
      for (const name of Object.keys(help) as (keyof typeof help)[])
        registerMetric(registry, name.endsWith('_total') ? 'counter' : 'gauge', { name, help: help[name] }, () => valuesOf(name));
      updates.push(async () => {
        readings = await withDeadline(READ_TIMEOUT_MS, Promise.resolve().then(read)).catch(() => []);
      });
    },
    text: async () => {
      await Promise.all(updates.map((update) => update()));
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
};
