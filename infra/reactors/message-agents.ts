import { randomUUID } from 'node:crypto';
import type { DueRun } from '../../commands/schedule/call-targets.reactor.ts';
import { type MessagePorts, recordSettlement, type Settlement, sendMessage } from '../../commands/schedule/message-agents.reactor.ts';
import { SCHEDULER } from '../../commands/schedule/scheduler.reactor.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import * as Delivery from '../../domain/webhooks/delivery.ts';
import { MAX_DUE_RUNS, messagesDueAt, settledRunsOf } from '../../projections/schedule/cron-job.queries.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import type { Log } from '../eventstore/event-log.ts';
import { MAX_MESSAGE_AGE_MS } from '../nats/jetstream.ts';
import { openOnce } from '../open-once.ts';
import type { Vault } from '../vault/vault.ts';
import { deliveryAppender } from '../webhooks/append-delivery.ts';
import { findInactiveReason, forEachConcurrently } from './cron-reactor-tools.ts';
import { startTimedReactor, type TimedReactorParts } from './timed-reactor.ts';

const INTERVAL_MS = 1_000;
const LOCK = 'reactor cron messages';

type MessengerVault = Pick<Vault, 'uniqueId' | 'sealEvent'>;

/** The parts that are needed to send messages to agents. `openVault` is called when the first message must be sent. */
export type AgentMessengerParts = TimedReactorParts & {
  readonly log: Log;
  readonly openVault: () => Promise<MessengerVault>;
};

const TRIGGERED = { type: 'CronJobTriggered', actor: SCHEDULER, seed: 'triggered' } as const;

const messagePorts = (log: Log, vault: MessengerVault, now: () => number): MessagePorts => {
  const cache = openAggregateCache(log, []);
  const transact = createTransact(log, cache);
  const metaOf = (tenant: string) => ({ tenant, actor: SCHEDULER, at: new Date(now()).toISOString(), v: 1 });
  return {
    now,
    messageLifetimeMs: MAX_MESSAGE_AGE_MS,
    loadJob: async ({ tenant_id, id }) => (await cache.refresh(CronJob, tenant_id, id)).state,
    loadRun: async ({ tenant_id, id }) => (await cache.refresh(CronRun, tenant_id, id)).state,
    loadDelivery: async ({ tenant_id, id }) => (await cache.refresh(Delivery, tenant_id, id)).state,
    inactiveReason: findInactiveReason(cache),
    deliveryIdOf: ({ tenant_id, id }) => vault.uniqueId('crondelivery', tenant_id, id),
    createDelivery: deliveryAppender(log, vault, TRIGGERED),
    repeatMessage: async ({ tenant_id, id }, message_id) => {
      const meta = metaOf(tenant_id);
      await transact({
        aggregate: Delivery,
        tenant: tenant_id,
        id,
        decide: Delivery.repeatLost(message_id),
        meta,
        seed: `after ${message_id}`,
      });
    },
    transact: ({ tenant_id, id }, decide) => {
      const meta = metaOf(tenant_id);
      return transact({ aggregate: CronRun, tenant: tenant_id, id, decide, meta, seed: randomUUID() });
    },
  };
};

type SettledRun = Awaited<ReturnType<typeof settledRunsOf>>[number];

const settlementOf = ({ settled_message, settled_outcome, settled_at, settled_published_at }: SettledRun): Settlement => ({
  message_id: settled_message!,
  outcome: settled_outcome as Settlement['outcome'],
  published_at: settled_published_at,
  at: settled_at!,
});

/**
 * Starts the reactor that sends the messages of those cron jobs that call agents, and records how these messages end.
 * Only one process does this at a time. If a message is sent twice after a crash, both copies have the same id, so that
 * runners recognise the second one.
 */
export const startAgentMessenger = ({ log, openVault, ...parts }: AgentMessengerParts) => {
  const { logger, now = Date.now } = parts;
  const vault = openOnce(openVault);

  /** Calls `work` for each run. An error in one call does not affect the others. */
  const forEachRun = <R extends { readonly id: string }>(runs: readonly R[], work: (run: R) => Promise<void>): Promise<void> =>
    forEachConcurrently(runs, (run) =>
      work(run).catch((error: Error) =>
        logger.warn({ run: run.id, reason: error.message }, 'a run of a cron job cannot continue now; trying again'),
      ),
    );

  return startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'messages of cron jobs cannot be sent now; trying again',
      run: async (reads, at) => {
        const settled = await settledRunsOf(reads);
        const due = await messagesDueAt(reads, at);
        if (settled.length + due.length === 0) return false;
        const ports = messagePorts(log, await vault(), now);
        const refOf = ({ tenant_id, id, job_id }: { tenant_id: string; id: string; job_id: string | null }): DueRun => ({
          tenant_id,
          id,
          job_id: job_id!,
        });
        await forEachRun(settled, (run) => recordSettlement(ports, refOf(run), settlementOf(run)));
        await forEachRun(due, (run) => sendMessage(ports, refOf(run)));
        return settled.length === MAX_DUE_RUNS || due.length === MAX_DUE_RUNS;
      },
    },
    parts,
  );
};
