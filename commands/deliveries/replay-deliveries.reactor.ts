import * as Delivery from '../../domain/deliveries/delivery.ts';
import { assertReleasable, release } from '../../domain/deliveries/release.ts';
import * as ReplayJob from '../../domain/deliveries/replay-job.ts';
import type { Actor } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { assertOwnMail, isFaultOfDelivery, prepareRelease, type ReleasePorts } from './release.ts';

export type JobRef = { readonly tenant_id: string; readonly id: string };

/** `actor` requested the job; `event_id`: the event of this request. */
export type StoredJob = {
  readonly state: ReplayJob.ReplayJob;
  readonly revision: number;
  readonly actor: Actor;
  readonly event_id: string;
};

/** `cause`: the event that requested the job. */
export type Requeue = JobRef & {
  readonly delivery_id: string;
  readonly actor: Actor;
  readonly cause: string;
  readonly decide: (delivery: Delivery.Delivery) => Promise<readonly Delivery.DeliveryEvent[]>;
};

/** The functions throw an error if the log cannot be reached. */
export type ReplayPorts = {
  /** Null if there is none, or if its tenant was erased. */
  readonly readJob: (job: JobRef) => Promise<StoredJob | null>;
  /** The agent that first got the delivery. @throws Refusal not_found */
  readonly agentOf: (tenant_id: string, delivery_id: string) => Promise<string>;
  readonly isAgentActive: (tenant_id: string, agent_id: string) => Promise<boolean>;
  readonly isTenantActive: (tenant_id: string) => Promise<boolean>;
  /**
   * Appends only once for each job and delivery, even if several processes call it.
   * @throws Refusal of the decision, not_found if the delivery was erased
   */
  readonly requeueOnce: (requeue: Requeue) => Promise<void>;
  readonly releases: () => Promise<ReleasePorts>;
  /** Appends after this revision. Returns false if the job has a later event. */
  readonly append: (job: JobRef, revision: number, events: readonly ReplayJob.ReplayJobEvent[]) => Promise<boolean>;
};

/** Deliveries that are appended at the same time. */
const CONCURRENCY = 10;
/** Deliveries that are released at the same time: each body (up to 25 MiB) is in memory. */
const RELEASE_CONCURRENCY = 2;

type Sent = { readonly delivery_id: string; readonly agent_id: string };

const decisionOf = (ports: ReplayPorts, { tenant_id }: JobRef, { state }: StoredJob, sent: Sent): Requeue['decide'] => {
  const { delivery_id: id, agent_id } = sent;
  if (state.outcome !== 'blocked') return async (delivery) => Delivery.requeue(agent_id)(delivery);
  return async (delivery) => {
    assertReleasable(delivery);
    assertOwnMail(delivery, agent_id);
    const checks = await prepareRelease(await ports.releases(), { tenant_id, id });
    return release({ agent_id, reason: state.release_reason!, ...checks })(delivery);
  };
};

/** @throws the error if the log cannot be reached */
const skipReason = (error: unknown): string => {
  if (!(error instanceof Refusal)) throw error;
  if (error.code === 'not_found') return 'the delivery was erased';
  if (error.code === 'invalid')
    return error.extra.errors?.map(({ pointer, message }) => `${pointer.slice(1)} ${message}`).join() ?? error.message;
  if (isFaultOfDelivery(error)) return error.message;
  throw error;
};

/** Sends the delivery again or releases it. Returns why it was not sent; null if it was. */
const replayOne = async (ports: ReplayPorts, { tenant_id, id }: JobRef, job: StoredJob, delivery_id: string): Promise<string | null> => {
  try {
    const agent_id = job.state.agent_id ?? (await ports.agentOf(tenant_id, delivery_id));
    if (!(await ports.isAgentActive(tenant_id, agent_id))) return 'the agent is inactive or deleted';
    const { actor, event_id: cause } = job;
    const decide = decisionOf(ports, { tenant_id, id }, job, { delivery_id, agent_id });
    await ports.requeueOnce({ tenant_id, id, delivery_id, actor, cause, decide });
    return null;
  } catch (error) {
    return skipReason(error);
  }
};

/** Returns the text of the error for users. `error`: the text so far. */
const errorText = (skipped: number, reason: string | undefined, error: string | null): string | null =>
  skipped === 0 ? null : `${skipped} not sent: ${reason ?? error?.replace(/^\d+ not sent: /, '')}`;

/**
 * Handles one batch. Each delivery is sent only once, even if a process is killed in the middle and another repeats it. A cancellation
 * takes effect at the next batch. `at`: present time.
 * @returns whether the job is still running
 */
export const advanceReplay = async (ports: ReplayPorts, ref: JobRef, at: string): Promise<boolean> => {
  const job = await ports.readJob(ref);
  if (job?.state.status !== 'running') return false;
  const { ids, done, skipped, error } = job.state;
  const batch = ids.slice(done, done + ReplayJob.batchSize(job.state, at));
  const isTenantActive = await ports.isTenantActive(ref.tenant_id);
  const reasons: string[] = [];
  const step = job.state.outcome === 'blocked' ? RELEASE_CONCURRENCY : CONCURRENCY;
  for (let first = 0; first < batch.length; first += step) {
    const replayed = batch
      .slice(first, first + step)
      .map((delivery_id) => (isTenantActive ? replayOne(ports, ref, job, delivery_id) : 'the tenant is suspended or closed'));
    reasons.push(...(await Promise.all(replayed)).filter((reason) => reason !== null));
  }
  const all = skipped + reasons.length;
  const progress = { done: done + batch.length, skipped: all, error: errorText(all, reasons[0], error) };
  const events = ReplayJob.advance(progress)(job.state);
  const isRecorded = await ports.append(ref, job.revision, events);
  return isRecorded && events.every(({ type }) => type !== 'DeliveriesReplayFinished');
};
