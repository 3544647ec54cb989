import { type CallPorts, callTarget, type DueRun } from '../../commands/schedule/call-targets.reactor.ts';
import { SCHEDULER } from '../../commands/schedule/scheduler.reactor.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import type { Headers } from '../../domain/schedule/request-headers.ts';
import { MAX_DUE_RUNS, runsDueAt } from '../../projections/schedule/cron-job.queries.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import type { GuardedClient } from '../egress/guarded-client.ts';
import type { Log } from '../eventstore/event-log.ts';
import { sendToTarget } from '../schedule/target-client.ts';
import type { Vault } from '../vault/vault.ts';
import { startTimedReactor, type TimedReactorParts } from './timed-reactor.ts';

const INTERVAL_MS = 1_000;
const LOCK = 'reactor cron targets';

/** What calling external targets needs. `services` is called when the first target is to be called. */
export type TargetCallerParts = TimedReactorParts & {
  readonly log: Log;
  readonly services: () => Promise<{ readonly client: GuardedClient; readonly vault: Pick<Vault, 'open'> }>;
};

const callPorts = (log: Log, { client, vault }: Awaited<ReturnType<TargetCallerParts['services']>>, now: () => number): CallPorts => {
  const cache = openAggregateCache(log, []);
  const transact = createTransact(log, cache);
  return {
    now,
    loadJob: async ({ tenant_id, id }) => (await cache.refresh(CronJob, tenant_id, id)).state,
    loadRun: async ({ tenant_id, id }) => (await cache.refresh(CronRun, tenant_id, id)).state,
    headersOf: async ({ tenant_id, id, headers, sealed_headers }) => {
      if (sealed_headers === null) return headers;
      const opened = await vault.open({ tenant: tenant_id, category: CronJob.category, id, field: 'headers' }, sealed_headers);
      return { ...headers, ...(JSON.parse(opened.reveal()) as Headers) };
    },
    send: (request) => sendToTarget(client, request),
    transact: ({ tenant_id, id }, decide) => {
      const at = new Date(now()).toISOString();
      const meta = { tenant: tenant_id, actor: SCHEDULER, at, v: 1 };
      return transact({ aggregate: CronRun, tenant: tenant_id, id, decide, meta, seed: `attempt ${at}` });
    },
  };
};

/**
 * Calls the external targets of cron jobs that have fired, and repeats failed calls. A call that takes long does not
 * delay the others. While a call is under way, its run is not called again by this process.
 */
export const startTargetCaller = ({ log, services, ...parts }: TargetCallerParts) => {
  const { logger, now = Date.now } = parts;
  const underWay = new Map<string, Promise<void>>();
  let opened: ReturnType<typeof services> | undefined;

  const openServices = (): ReturnType<typeof services> => {
    opened ??= services().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };

  const call = async (ports: CallPorts, run: DueRun): Promise<void> => {
    try {
      await callTarget(ports, run);
    } catch (error) {
      logger.warn({ run: run.id, reason: (error as Error).message }, 'a target of a cron job cannot be called now; trying again');
    }
  };

  const reactor = startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'targets of cron jobs cannot be called now; trying again',
      run: async (reads, at) => {
        const due = (await runsDueAt(reads, at, 'external_url')).filter(({ id }) => !underWay.has(id));
        if (due.length === 0) return false;
        const ports = callPorts(log, await openServices(), now);
        for (const { tenant_id, id, job_id } of due)
          underWay.set(
            id,
            call(ports, { tenant_id, id, job_id: job_id! }).finally(() => underWay.delete(id)),
          );
        return due.length === MAX_DUE_RUNS;
      },
    },
    parts,
  );

  return {
    close: async (): Promise<void> => {
      await reactor.close();
      await Promise.all(underWay.values());
      if (opened) await (await opened).client.close();
    },
  };
};
