import type { DrainOptions } from '../spool/drain-spool.ts';
import type { SpoolStatus } from '../spool/spool-storage.ts';
import type { ProcessMetrics } from './process-metrics.ts';
import { createCounter } from './series.ts';

const RESULTS = ['recorded', 'known', 'erased', 'parked'] as const;

export const countDrained = ({ registry }: Pick<ProcessMetrics, 'registry'>): DrainOptions['onDrained'] => {
  const seriesOf = createCounter<'result'>(registry, {
    name: 'annals_spool_drained_total',
    help: 'Deliveries of the spool by result: recorded, known (the log had them already), erased (with their tenant), parked (refused)',
  });
  const series = Object.fromEntries(RESULTS.map((result) => [result, seriesOf({ result })]));
  return (result) => series[result]!.add();
};

type Recording = { readonly isBreakerOpen: () => boolean; readonly spooledShare: () => number };

/** Adds gauges about the deliveries that wait in the spool of this process. */
export const addSpoolMetrics = (metrics: ProcessMetrics, status: () => SpoolStatus, { isBreakerOpen, spooledShare }: Recording): void =>
  metrics.addGroup({
    help: {
      annals_spool_rows: 'Deliveries that wait in the spool of this process until the event store can record them',
      annals_spool_bytes: 'Their size, in bytes',
      annals_spool_largest_tenant_bytes: 'The size of the deliveries of the tenant with most of them, in bytes',
      annals_spool_share_refused_total: 'Deliveries that were refused because their tenant had used up its share of the spool',
      annals_spool_oldest_seconds: 'How long the oldest of them has waited, in seconds; 0 if none waits',
      annals_spool_parked: 'Deliveries in the spool that the event store has refused; they need an operator',
      annals_spool_writable: 'Whether the spool can take deliveries (1) or not (0)',
      annals_spooled_delivery_share: 'Share of the deliveries of the last five minutes that went through the spool, 0 to 1',
      annals_store_breaker_open: 'Whether deliveries go to the spool without an attempt to record them (1) or not (0)',
    },
    read: () => {
      const { rows, bytes, parked, oldestAt, canTake, largestBytes, refusedShares } = status();
      return [
        {
          labels: {},
          values: {
            annals_spool_rows: rows,
            annals_spool_bytes: bytes,
            annals_spool_largest_tenant_bytes: largestBytes,
            annals_spool_share_refused_total: refusedShares,
            annals_spool_oldest_seconds: oldestAt === null ? 0 : Math.max(0, (Date.now() - oldestAt) / 1_000),
            annals_spool_parked: parked,
            annals_spool_writable: canTake ? 1 : 0,
            annals_spooled_delivery_share: spooledShare(),
            annals_store_breaker_open: isBreakerOpen() ? 1 : 0,
          },
        },
      ];
    },
  });
