import type { Logger } from 'pino';
import { acceptsDeliveries, isActive } from '../../commands/deliveries/delivery-eligibility.ts';
import { advanceReplay, type JobRef, type ReplayPorts } from '../../commands/deliveries/replay-deliveries.reactor.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { fold } from '../../domain/aggregate.ts';
import * as Delivery from '../../domain/deliveries/delivery.ts';
import * as ReplayJob from '../../domain/deliveries/replay-job.ts';
import { type DomainEvent, type Recorded, streamName } from '../../domain/event.ts';
import { notFound } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { runningJobs } from '../../projections/deliveries/replay-job.queries.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { derivedId } from '../aggregates/transact.ts';
import { isUnreachable, type Log, LogError } from '../eventstore/event-log.ts';
import { type TimerServices, timedRuns } from '../reactors/timed.ts';

const SYSTEM = { kind: 'system', id: 'annals' } as const;

/** An empty list if the stream was erased. @throws LogError */
const eventsOf = async <E extends DomainEvent>(log: Log, stream: string, part?: Parameters<Log['read']>[1]): Promise<Recorded<E>[]> => {
  try {
    return (await Array.fromAsync(log.read(stream, part))) as Recorded<E>[];
  } catch (error) {
    if (error instanceof LogError && error.kind === 'gone') return [];
    throw error;
  }
};

/** Returns false if the stream has a later event. @throws LogError */
const appendAt = async (log: Log, stream: string, revision: number, events: Parameters<Log['append']>[2]): Promise<boolean> => {
  try {
    await log.append(stream, revision, events);
    return true;
  } catch (error) {
    if (error instanceof LogError && (error.kind === 'conflict' || error.kind === 'gone')) return false;
    throw error;
  }
};

type OpenReleases = ReplayPorts['releases'];

/** Creates the ports for one run of the reactor. `at` is the time of the events that it appends (RFC 3339 UTC). */
export const replayPorts = (log: Log, at: string, releases: OpenReleases): ReplayPorts => {
  // The cache is not kept for the next run, because no subscription updates it.
  const cache = openAggregateCache(log, []);
  const deliveryStream = (tenant_id: string, delivery_id: string) => streamName(Delivery.category, tenant_id, delivery_id);
  return {
    readJob: async ({ tenant_id, id }) => {
      const stream = streamName(ReplayJob.category, tenant_id, id);
      const [first] = await eventsOf<ReplayJob.ReplayJobEvent>(log, stream, { limit: 1 });
      if (!first) return null;
      // Each event has the whole progress of the job. So the first event and the last one are enough.
      const [last = first] = await eventsOf<ReplayJob.ReplayJobEvent>(log, stream, { limit: 1, backwards: true });
      const events = last.revision === first.revision ? [first] : [first, last];
      return { state: fold(ReplayJob, events), revision: last.revision, actor: first.actor, event_id: first.event_id };
    },
    agentOf: async (tenant_id, delivery_id) => {
      for await (const first of log.read(deliveryStream(tenant_id, delivery_id), { limit: 1 })) return Delivery.factsOf(first).agent_id;
      throw notFound();
    },
    isAgentActive: async (tenant_id, agent_id) => isActive((await cache.load(Agent, tenant_id, agent_id)).state),
    isTenantActive: async (tenant_id) => acceptsDeliveries((await cache.load(Tenant, tenant_id, tenant_id)).state),
    requeueOnce: async ({ tenant_id, id, delivery_id, actor, cause, decide }) => {
      const stream = deliveryStream(tenant_id, delivery_id);
      const event_id = derivedId(stream, ReplayJob.category, id);
      const meta = { tenant: tenant_id, actor, at, v: 1, $causationId: cause };
      for (;;) {
        const events = await eventsOf<Delivery.DeliveryEvent>(log, stream);
        if (events.some((event) => event.event_id === event_id)) return;
        const [requeued] = await decide(fold(Delivery, events));
        if (!requeued || (await appendAt(log, stream, events.at(-1)!.revision, [{ id: event_id, ...requeued, meta }]))) return;
      }
    },
    releases,
    append: async ({ tenant_id, id }, revision, events) => {
      if (events.length === 0) return true;
      const stream = streamName(ReplayJob.category, tenant_id, id);
      const meta = { tenant: tenant_id, actor: SYSTEM, at, v: 1 };
      return appendAt(
        log,
        stream,
        revision,
        events.map((event, index) => ({ id: derivedId(stream, 'advanced', revision, index), ...event, meta })),
      );
    },
  };
};

type ReplayParts = { readonly log: Log; readonly releases: OpenReleases; readonly logger: Pick<Logger, 'error'> };

/**
 * Handles one batch of deliveries of each job. A job that fails does not stop the others: the next run tries it again.
 * Returns whether at least one job is still running.
 * @throws LogError if the log cannot be reached
 */
export const advanceReplays = async ({ log, releases, logger }: ReplayParts, jobs: readonly JobRef[], at: string): Promise<boolean> => {
  const advanceOne = (job: JobRef): Promise<boolean> =>
    advanceReplay(replayPorts(log, at, releases), job, at).catch((error: Error) => {
      if (isUnreachable(error)) throw error;
      logger.error({ job: job.id, tenant: job.tenant_id, reason: error.message }, 'a job cannot continue now; trying again');
      return false;
    });
  let isMoreDue = false;
  for (const job of jobs) if (await advanceOne(job)) isMoreDue = true;
  return isMoreDue;
};

/** Each run handles one batch of each job that sends deliveries again. */
export const replays = timedRuns({
  lock: 'reactor delivery replays',
  everyMs: 1_000,
  failure: 'deliveries cannot be sent again now; trying again',
  open: (services: TimerServices & ReplayParts) => ({
    run: async (reads, at) => advanceReplays(services, await runningJobs(reads, at), at),
  }),
});
