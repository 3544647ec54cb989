import { createAgentChecks } from '../../commands/schedule/agent-checks.ts';
import { callTarget, type DueRun, type TargetRequest } from '../../commands/schedule/call-targets.reactor.ts';
import { SCHEDULER } from '../../commands/schedule/scheduler.reactor.ts';
import { callsDueAt, MAX_DUE_CALLS } from '../../projections/schedule/cron-job.queries.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import { type GuardedClient, MAX_REQUESTS } from '../egress/guarded-client.ts';
import type { Log } from '../eventstore/event-log.ts';
import { openOnce } from '../open-once.ts';
import { type Runs, type TimerServices, timedRuns } from '../reactors/timed.ts';
import type { Vault } from '../vault/vault.ts';
import { createCallQueue } from './call-queue.ts';
import { sendToTarget } from './target-client.ts';

const INTERVAL_MS = 1_000;
/** With more in this process, the query would find only runs of this tenant, and none of others. */
const MAX_WAITING_PER_TENANT = 2_500;

type TargetServices = { readonly client: GuardedClient; readonly vault: Pick<Vault, 'open'> };

type Services = TimerServices & {
  readonly egress: () => Promise<GuardedClient>;
  readonly vault: { readonly open: () => Promise<TargetServices['vault']> };
};

/** `now` returns Unix milliseconds. */
export const createCaller = (log: Log, { client, vault }: TargetServices, now: () => number) => {
  const ctx = reactorContext(log, { actor: SCHEDULER, now, seed: (at) => `attempt ${at}` });
  const calls = { agents: createAgentChecks(ctx), send: (request: TargetRequest) => sendToTarget(client, request) };
  return ({ tenant_id, ...run }: DueRunOfTenant): Promise<void> => callTarget({ ...ctx.inTenant(tenant_id), secrets: vault }, calls, run);
};

/** Creates a value again after one second, so what a caller of targets remembers about agents is at most that old. */
const renewed = <T>(create: () => T): (() => T) => {
  let known: { readonly value: T; readonly until: number } | undefined;
  return () => {
    if (!known || performance.now() > known.until) known = { value: create(), until: performance.now() + INTERVAL_MS };
    return known.value;
  };
};

type DueRunOfTenant = DueRun & { readonly tenant_id: string };
type DueCall = DueRunOfTenant & { readonly target: string };

/** `call` must not reject. */
const createCalls = (call: (run: DueRunOfTenant) => Promise<void>) => {
  const queue = createCallQueue(MAX_REQUESTS);
  const underWay = new Map<string, { readonly tenant_id: string; readonly ended: Promise<void> }>();
  return {
    has: (run_id: string): boolean => underWay.has(run_id),
    add: ({ target, ...run }: DueCall): void => {
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      underWay.set(run.id, { tenant_id: run.tenant_id, ended });
      queue.add(URL.parse(target)?.host ?? target, async () => {
        await call(run);
        underWay.delete(run.id);
        resolve();
      });
    },
    /** Returns the tenants that already have the maximum number of waiting calls. */
    busyTenants: (): string[] =>
      [...Map.groupBy(underWay.values(), ({ tenant_id }) => tenant_id)]
        .filter(([, { length }]) => length >= MAX_WAITING_PER_TENANT)
        .map(([tenant_id]) => tenant_id),
    allEnded: async (): Promise<void> => void (await Promise.all([...underWay.values()].map(({ ended }) => ended))),
  };
};

const openCalls = ({ log, logger, egress, vault, now = Date.now }: Services, closing: AbortSignal): Runs => {
  const open = openOnce(async () => {
    const services = { vault: await vault.open(), client: await egress() };
    return renewed(() => createCaller(log, services, now));
  });
  const calls = createCalls(async (run) => {
    if (closing.aborted) return;
    try {
      await (await open())()(run);
    } catch (error) {
      logger.warn({ run: run.id, reason: (error as Error).message }, 'a target of a cron job cannot be called now; trying again');
    }
  });
  return {
    run: async (reads, at) => {
      const found = await callsDueAt(reads, at, calls.busyTenants());
      const due = found.filter(({ id }) => !calls.has(id));
      if (due.length === 0) return false;
      await open();
      for (const { tenant_id, id, job_id, target } of due) calls.add({ tenant_id, id, job_id: job_id!, target: target! });
      return found.length === MAX_DUE_CALLS;
    },
    close: calls.allEnded,
  };
};

/**
 * Calls the external targets of cron jobs that have fired, and repeats failed calls. A slow call delays neither calls to other hosts nor
 * calls of other tenants. While a call of a run waits or is running, this process does not start another call of the same run.
 */
export const targetCalls = timedRuns({
  lock: 'reactor cron targets',
  everyMs: INTERVAL_MS,
  failure: 'targets of cron jobs cannot be called now; trying again',
  open: openCalls,
});
