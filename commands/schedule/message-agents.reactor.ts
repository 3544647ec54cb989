import type { Decision } from '../../domain/aggregate.ts';
import type * as CronJob from '../../domain/schedule/cron-job.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import { type CronDeliveryFacts, cronDelivery } from '../../domain/webhooks/cron-delivery.ts';
import type { Delivery } from '../../domain/webhooks/delivery.ts';
import type { DueRun } from './call-targets.reactor.ts';
import { type InactiveReason, reasonNotToCall } from './scheduler.reactor.ts';

/**
 * How the last message of a run ended, according to the read model: when and how, and when the broker had stored it.
 */
export type Settlement = {
  readonly message_id: string;
  readonly outcome: 'acknowledged' | 'max_deliveries' | 'terminated';
  readonly published_at: string | null;
  readonly at: string;
};

/** The delivery of a run, identified by its tenant and id. */
type DeliveryRef = { readonly tenant_id: string; readonly id: string };

/** The functions that are needed to send messages to agents. Times are in milliseconds, `at` is RFC 3339 UTC. */
export type MessagePorts = {
  readonly loadJob: (job: { readonly tenant_id: string; readonly id: string }) => Promise<CronJob.CronJob>;
  readonly loadRun: (run: DueRun) => Promise<CronRun.CronRun>;
  readonly loadDelivery: (delivery: DeliveryRef) => Promise<Delivery>;
  readonly inactiveReason: (tenant_id: string, agent_id: string) => Promise<InactiveReason | null>;
  /** Returns the id of the delivery of a run. The same run always has the same id. */
  readonly deliveryIdOf: (run: DueRun) => string;
  /** Appends the first event of a delivery. Does nothing if the delivery exists. */
  readonly createDelivery: (delivery: DeliveryRef, facts: CronDeliveryFacts, body: Uint8Array) => Promise<void>;
  /**
   * Sends the last message of a delivery again, with the same CloudEvents id. Does nothing if the last message is not
   * `message_id`.
   */
  readonly repeatMessage: (delivery: DeliveryRef, message_id: string) => Promise<void>;
  readonly transact: (run: DueRun, decide: Decision<CronRun.CronRun, CronRun.CronRunEvent>) => Promise<unknown>;
  /** How long the broker keeps a message, in milliseconds. */
  readonly messageLifetimeMs: number;
  readonly now: () => number;
};

const SETTLEMENT_ERRORS = {
  acknowledged: null,
  terminated: 'The runner of the agent failed',
  max_deliveries: 'The message was delivered the maximum number of times, but no runner of the agent has acknowledged it',
} as const satisfies Record<Settlement['outcome'], string | null>;

const isoTime = (ms: number): string => new Date(ms).toISOString();

const jobOf = ({ tenant_id, job_id }: DueRun) => ({ tenant_id, id: job_id });

/** Records the outcome of an attempt of a run. */
const record = async (ports: MessagePorts, due: DueRun, run: CronRun.CronRun, error: string | null, ms: number): Promise<void> => {
  const job = await ports.loadJob(jobOf(due));
  const outcome = { status_code: null, error, ms };
  await ports.transact(due, CronRun.recordAttempt(job, run.attempts.length + 1, outcome, isoTime(ports.now())));
};

/** Appends the first event of the delivery of a run, unless it exists. Returns the id of the delivery. */
const createDelivery = async (ports: MessagePorts, due: DueRun, { target_agent_id, due_at }: CronRun.CronRun): Promise<string> => {
  const id = ports.deliveryIdOf(due);
  const job = await ports.loadJob(jobOf(due));
  const message = { occurrence_id: due.id, due_at, agent_id: target_agent_id!, at: isoTime(ports.now()) };
  const { facts, body } = cronDelivery(job, message);
  await ports.createDelivery({ tenant_id: due.tenant_id, id }, facts, body);
  return id;
};

/**
 * Makes the due attempt of a run: sends a message to the agent. The first attempt creates a delivery. Later attempts
 * send its message again with the same id, so that a runner recognises a message that it has already processed. If the
 * attempt before has waited for an acknowledgement for as long as the broker keeps messages, that attempt has failed.
 */
export const sendMessage = async (ports: MessagePorts, due: DueRun): Promise<void> => {
  const run = await ports.loadRun(due);
  const now = ports.now();
  // The read model that lists due runs may be outdated, so this attempt may already have been made.
  if (run.next_attempt_at === null || Date.parse(run.next_attempt_at) > now) return;
  if (run.is_awaiting)
    return record(ports, due, run, 'No runner of the agent has acknowledged the message in time', ports.messageLifetimeMs);
  const reason = await reasonNotToCall(ports, await ports.loadJob(jobOf(due)), run.target_agent_id!);
  if (reason) return record(ports, due, run, reason, 0);
  const id = run.delivery_id ?? (await createDelivery(ports, due, run));
  const delivery = { tenant_id: due.tenant_id, id };
  if (run.message_id !== null) await ports.repeatMessage(delivery, run.message_id);
  const { message_id } = await ports.loadDelivery(delivery);
  await ports.transact(due, CronRun.recordSent({ delivery_id: id, message_id: message_id! }, isoTime(now + ports.messageLifetimeMs)));
};

const durationOf = ({ published_at, at }: Settlement): number =>
  published_at === null ? 0 : Math.max(0, Date.parse(at) - Date.parse(published_at));

/**
 * Records that the runner of an agent has acknowledged a message of a run, or that the broker has given the message up.
 * If the delivery has a newer message, for example because of a redelivery, a message that was given up does not end
 * the attempt.
 */
export const recordSettlement = async (ports: MessagePorts, due: DueRun, settlement: Settlement): Promise<void> => {
  const run = await ports.loadRun(due);
  if (!run.is_open) return;
  const error = SETTLEMENT_ERRORS[settlement.outcome];
  if (error !== null) {
    if (!run.is_awaiting || run.delivery_id === null) return;
    const { message_id } = await ports.loadDelivery({ tenant_id: due.tenant_id, id: run.delivery_id });
    if (message_id !== settlement.message_id) return;
  }
  await record(ports, due, run, error, durationOf(settlement));
};
