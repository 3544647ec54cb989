import { createAgentChecks } from '../../commands/schedule/agent-checks.ts';
import { recordSettlement, type Settlement, sendMessage } from '../../commands/schedule/message-agents.reactor.ts';
import { SCHEDULER } from '../../commands/schedule/scheduler.reactor.ts';
import { MAX_DUE_RUNS, messagesDueAt, settledRunsOf } from '../../projections/schedule/cron-job.queries.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import { deliveryAppender } from '../deliveries/append-delivery.ts';
import { MAX_MESSAGE_AGE_MS } from '../nats/jetstream.ts';
import { forEachConcurrently } from '../reactors/for-each-concurrently.ts';
import { type Runs, type TimerServices, timedRuns } from '../reactors/timed.ts';
import { uniqueIdIn } from '../vault/tenant-ids.ts';
import type { Vault } from '../vault/vault.ts';

type Services = TimerServices & {
  readonly vault: { readonly open: () => Promise<Pick<Vault, 'uniqueId' | 'sealEvent'>> };
};

const TRIGGERED = { type: 'CronJobTriggered', actor: SCHEDULER, seed: 'triggered' } as const;

type SettledRun = Awaited<ReturnType<typeof settledRunsOf>>[number];

const settlementOf = ({ settled_message, settled_outcome, settled_at, settled_published_at }: SettledRun): Settlement => ({
  message_id: settled_message!,
  outcome: settled_outcome as Settlement['outcome'],
  published_at: settled_published_at,
  at: settled_at!,
});

const openMessages = ({ log, logger, vault, now = Date.now }: Services): Runs => {
  /** An error in one call does not affect the others. */
  const forEachRun = <R extends { readonly id: string }>(runs: readonly R[], work: (run: R) => Promise<void>): Promise<void> =>
    forEachConcurrently(runs, (run) =>
      work(run).catch((error: Error) =>
        logger.warn({ run: run.id, reason: error.message }, 'a run of a cron job cannot continue now; trying again'),
      ),
    );
  return {
    run: async (reads, at) => {
      const settled = await settledRunsOf(reads);
      const due = await messagesDueAt(reads, at);
      if (settled.length + due.length === 0) return false;
      const opened = await vault.open();
      const ctx = reactorContext(log, { actor: SCHEDULER, now });
      const contextOf = (tenant: string) => ({ ...ctx.inTenant(tenant), secrets: { uniqueId: uniqueIdIn(opened, tenant) } });
      const createDelivery = deliveryAppender(log, opened, TRIGGERED);
      const messages = { agents: createAgentChecks(ctx), createDelivery, messageLifetimeMs: MAX_MESSAGE_AGE_MS };
      await forEachRun(settled, (run) =>
        recordSettlement(ctx.inTenant(run.tenant_id), { id: run.id, job_id: run.job_id! }, settlementOf(run)),
      );
      await forEachRun(due, ({ tenant_id, id, job_id }) => sendMessage(contextOf(tenant_id), messages, { id, job_id: job_id! }));
      return settled.length === MAX_DUE_RUNS || due.length === MAX_DUE_RUNS;
    },
  };
};

/**
 * Sends the messages of cron jobs that call agents, and records how these end. Two copies sent around a crash have the same id, so that
 * runners recognise the second one.
 */
export const agentMessages = timedRuns({
  lock: 'reactor cron messages',
  everyMs: 1_000,
  failure: 'messages of cron jobs cannot be sent now; trying again',
  open: openMessages,
});
