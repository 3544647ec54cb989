import { createAgentChecks } from '../../commands/schedule/agent-checks.ts';
import { callTarget, type DueRun, type TargetRequest } from '../../commands/schedule/call-targets.reactor.ts';
import { SCHEDULER } from '../../commands/schedule/scheduler.reactor.ts';
import { callsDueAt, MAX_DUE_CALLS } from '../../projections/schedule/cron-job.queries.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import { type GuardedClient, MAX_REQUESTS } from '../egress/guarded-client.ts';
import type { Log } from '../eventstore/event-log.ts';
import { openOnce } from '../open-once.ts';
import { startTimedReactor, type TimedReactorParts } from '../reactors/timed-reactor.ts';
import type { Vault } from '../vault/vault.ts';
import { createCallQueue } from './call-queue.ts';
import { sendToTarget } from './target-client.ts';

const INTERVAL_MS = 1_000;
const LOCK = 'reactor cron targets';
/** With more in this process, the query would find only runs of this tenant, and none of others. */
const MAX_WAITING_PER_TENANT = 2_500;

/** `services` is called when the first target must be called. */
export type TargetCallerParts = TimedReactorParts & {
  readonly log: Log;
  readonly services: () => Promise<{ readonly client: GuardedClient; readonly vault: Pick<Vault, 'open'> }>;
};

/** `now` returns Unix milliseconds. */
export const createCaller = (log: Log, { client, vault }: Awaited<ReturnType<TargetCallerParts['services']>>, now: () => number) => {
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

/**
 * Starts the reactor that calls the external targets of cron jobs that have fired, and repeats failed calls. A slow
 * call delays neither calls to other hosts nor calls of other tenants. While a call of a run waits or is running, this
 * process does not start another call of the same run.
 */
export const startTargetCaller = ({ log, services, ...parts }: TargetCallerParts) => {
  const { logger, now = Date.now } = parts;
  let client: GuardedClient | undefined;
  let isClosed = false;

  const open = openOnce(async () => {
    const given = await services();
    client = given.client;
    return renewed(() => createCaller(log, given, now));
  });

  const calls = createCalls(async (run) => {
    if (isClosed) return;
    try {
      await (await open())()(run);
    } catch (error) {
      logger.warn({ run: run.id, reason: (error as Error).message }, 'a target of a cron job cannot be called now; trying again');
    }
  });

  const reactor = startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'targets of cron jobs cannot be called now; trying again',
      run: async (reads, at) => {
        const found = await callsDueAt(reads, at, calls.busyTenants());
        const due = found.filter(({ id }) => !calls.has(id));
        if (due.length === 0) return false;
        await open();
        for (const { tenant_id, id, job_id, target } of due) calls.add({ tenant_id, id, job_id: job_id!, target: target! });
        return found.length === MAX_DUE_CALLS;
      },
    },
    parts,
  );

  return {
    close: async (): Promise<void> => {
      isClosed = true;
      await reactor.close();
      await calls.allEnded();
      await client?.close();
    },
  };
};
