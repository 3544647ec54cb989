import type { Actor } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Delivery from '../../domain/webhooks/delivery.ts';
import * as ReplayJob from '../../domain/webhooks/replay-job.ts';

export type JobRef = { readonly tenant_id: string; readonly id: string };

/** A job as the log has it. `actor` has requested it, and `event_id` is the id of the event of that request. */
export type StoredJob = {
  readonly state: ReplayJob.ReplayJob;
  readonly revision: number;
  readonly actor: Actor;
  readonly event_id: string;
};

/** A delivery of a job, and the decision about it. `cause` is the id of the event that requested the job. */
export type Requeue = JobRef & {
  readonly delivery_id: string;
  readonly actor: Actor;
  readonly cause: string;
  readonly decide: (delivery: Delivery.Delivery) => readonly Delivery.DeliveryEvent[];
};

/** What the reactor needs from the log. Its methods throw the error of the log if it cannot be reached. */
export type ReplayPorts = {
  /** Returns null if there is no such job, or its tenant was erased. */
  readonly readJob: (job: JobRef) => Promise<StoredJob | null>;
  /** Returns the agent that got a delivery first. @throws Refusal not_found */
  readonly agentOf: (tenant_id: string, delivery_id: string) => Promise<string>;
  /** Whether an agent gets deliveries. */
  readonly isAgentActive: (tenant_id: string, agent_id: string) => Promise<boolean>;
  /** Whether deliveries to a tenant are accepted. */
  readonly isTenantActive: (tenant_id: string) => Promise<boolean>;
  /**
   * Appends what the decision returns, once for each job and delivery, however often and by however many processes this
   * is called. @throws Refusal of the decision, or not_found if the delivery was erased
   */
  readonly requeueOnce: (requeue: Requeue) => Promise<void>;
  /** Appends events to the job at this revision. Returns false if the job has a later event. */
  readonly append: (job: JobRef, revision: number, events: readonly ReplayJob.ReplayJobEvent[]) => Promise<boolean>;
};

/** How many deliveries are handled between two events of a job. A cancellation takes effect at the next batch. */
const BATCH = 100;
/** How many deliveries are appended at the same time. */
const CONCURRENCY = 10;

/** Returns why a delivery was not sent; null if it was. */
const replayOne = async (ports: ReplayPorts, { tenant_id, id }: JobRef, job: StoredJob, delivery_id: string): Promise<string | null> => {
  try {
    const agent_id = job.state.agent_id ?? (await ports.agentOf(tenant_id, delivery_id));
    if (!(await ports.isAgentActive(tenant_id, agent_id))) return 'the agent is inactive or deleted';
    const { actor, event_id: cause } = job;
    await ports.requeueOnce({ tenant_id, id, delivery_id, actor, cause, decide: Delivery.requeue(agent_id) });
    return null;
  } catch (error) {
    if (!(error instanceof Refusal) || (error.code !== 'not_found' && error.code !== 'conflict')) throw error;
    return error.code === 'not_found' ? 'the delivery was erased' : error.message;
  }
};

/** The text for users about the deliveries of a job that were skipped. `error` is the text so far. */
const errorText = (skipped: number, reason: string | undefined, error: string | null): string | null =>
  skipped === 0 ? null : `${skipped} not sent: ${reason ?? error?.replace(/^\d+ not sent: /, '')}`;

/**
 * Handles the next batch of a job. Each delivery is sent once, also if a process is killed in the middle of a batch and
 * another one repeats it. Returns whether the job still runs.
 */
export const advanceReplay = async (ports: ReplayPorts, ref: JobRef): Promise<boolean> => {
  const job = await ports.readJob(ref);
  if (job?.state.status !== 'running') return false;
  const { ids, done, skipped, error } = job.state;
  const batch = ids.slice(done, done + BATCH);
  const isTenantActive = await ports.isTenantActive(ref.tenant_id);
  const reasons: string[] = [];
  for (let first = 0; first < batch.length; first += CONCURRENCY) {
    const replayed = batch
      .slice(first, first + CONCURRENCY)
      .map((delivery_id) => (isTenantActive ? replayOne(ports, ref, job, delivery_id) : 'the tenant is suspended or closed'));
    reasons.push(...(await Promise.all(replayed)).filter((reason) => reason !== null));
  }
  const all = skipped + reasons.length;
  const progress = { done: done + batch.length, skipped: all, error: errorText(all, reasons[0], error) };
  const events = ReplayJob.advance(progress)(job.state);
  const isRecorded = await ports.append(ref, job.revision, events);
  return isRecorded && events.every(({ type }) => type !== 'DeliveriesReplayFinished');
};
