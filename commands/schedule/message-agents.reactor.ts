import { type CronDeliveryFacts, cronDelivery } from '../../domain/deliveries/cron-delivery.ts';
import * as Delivery from '../../domain/deliveries/delivery.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import type { ReactorCtx, UsesSecrets } from '../context.ts';
import { type AgentChecks, reasonNotToCall } from './agent-checks.ts';
import type { DueRun } from './call-targets.reactor.ts';

/** How the last message of a run ended, by the read model, and when the broker had stored it. */
export type Settlement = {
  readonly message_id: string;
  readonly outcome: 'acknowledged' | 'max_deliveries' | 'terminated';
  readonly published_at: string | null;
  readonly at: string;
};

type MessageCtx = ReactorCtx & UsesSecrets<'uniqueId'>;

export type AgentMessages = {
  readonly agents: AgentChecks;
  /** Does nothing if the delivery exists. */
  readonly createDelivery: (
    delivery: { readonly tenant_id: string; readonly id: string },
    facts: CronDeliveryFacts,
    body: Uint8Array,
  ) => Promise<void>;
  /** How long the broker keeps a message. */
  readonly messageLifetimeMs: number;
};

const SETTLEMENT_ERRORS = {
  acknowledged: null,
  terminated: 'The runner of the agent failed',
  max_deliveries: 'The message was delivered the maximum number of times, but no runner of the agent has acknowledged it',
} as const satisfies Record<Settlement['outcome'], string | null>;

const record = async (ctx: ReactorCtx, { id, job_id }: DueRun, run: CronRun.CronRun, error: string | null, ms: number): Promise<void> => {
  const { state: job } = await ctx.load(CronJob, job_id);
  const outcome = { status_code: null, error, ms };
  await ctx.transact(CronRun, id, CronRun.recordAttempt(job, run.attempts.length + 1, outcome, ctx.at()));
};

/** Does nothing if it exists. The same run always has the same delivery id. */
const createDelivery = async (
  ctx: MessageCtx,
  messages: AgentMessages,
  due: DueRun,
  { target_agent_id, due_at }: CronRun.CronRun,
): Promise<string> => {
  const id = ctx.secrets.uniqueId('crondelivery', due.id);
  const { state: job } = await ctx.load(CronJob, due.job_id);
  const { facts, body } = cronDelivery(job, { occurrence_id: due.id, due_at, agent_id: target_agent_id!, at: ctx.at() });
  await messages.createDelivery({ tenant_id: ctx.tenant, id }, facts, body);
  return id;
};

/** The new message has the same CloudEvents id. Does nothing if the repeated message is not the last one of the delivery. */
const repeatMessage = (ctx: ReactorCtx, delivery_id: string, message_id: string) =>
  ctx.withSeed(`after ${message_id}`).transact(Delivery, delivery_id, Delivery.repeatLost(message_id));

/**
 * The first attempt creates a delivery; later ones repeat its message with the same id, so that a runner recognises it. An attempt that
 * has waited for an acknowledgement for as long as the broker keeps messages has failed.
 */
export const sendMessage = async (ctx: MessageCtx, messages: AgentMessages, due: DueRun): Promise<void> => {
  const { state: run } = await ctx.load(CronRun, due.id);
  const now = ctx.at();
  const { messageLifetimeMs } = messages;
  // The read model that lists due runs may be outdated, so this attempt may already have been made.
  if (run.next_attempt_at === null || run.next_attempt_at > now) return;
  if (run.is_awaiting) return record(ctx, due, run, 'No runner of the agent has acknowledged the message in time', messageLifetimeMs);
  const { state: job } = await ctx.load(CronJob, due.job_id);
  const reason = await reasonNotToCall(messages.agents, job, run.target_agent_id!);
  if (reason) return record(ctx, due, run, reason, 0);
  const delivery_id = run.delivery_id ?? (await createDelivery(ctx, messages, due, run));
  if (run.message_id !== null) await repeatMessage(ctx, delivery_id, run.message_id);
  const { message_id } = (await ctx.load(Delivery, delivery_id)).state;
  const expires_at = new Date(Date.parse(now) + messageLifetimeMs).toISOString();
  await ctx.transact(CronRun, due.id, CronRun.recordSent({ delivery_id, message_id: message_id! }, expires_at));
};

const durationOf = ({ published_at, at }: Settlement): number =>
  published_at === null ? 0 : Math.max(0, Date.parse(at) - Date.parse(published_at));

/**
 * The message was acknowledged by a runner, or given up by the broker. The latter does not end the attempt if the delivery has a newer
 * message, for example after a redelivery.
 */
export const recordSettlement = async (ctx: ReactorCtx, due: DueRun, settlement: Settlement): Promise<void> => {
  const { state: run } = await ctx.load(CronRun, due.id);
  if (!run.is_open) return;
  const error = SETTLEMENT_ERRORS[settlement.outcome];
  if (error !== null) {
    if (!run.is_awaiting || run.delivery_id === null) return;
    const { message_id } = (await ctx.load(Delivery, run.delivery_id)).state;
    if (message_id !== settlement.message_id) return;
  }
  await record(ctx, due, run, error, durationOf(settlement));
};
