import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import * as Delivery from '../../domain/deliveries/delivery.ts';
import { displayText, integer } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { conflict, invalid, Refusal } from '../../domain/refusal.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import * as SentEvent from '../../domain/sessions/sent-event.ts';
import * as Session from '../../domain/sessions/session.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { recordRefusedSession, requireBudget } from '../billing/budget.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { readModelChain } from '../runners/agent-runtime.ts';
import { FirstMessage, personMessage } from './person-message.ts';
import { storableText } from './screen-text.ts';
import { sessionView } from './session-names.ts';

const DAY_SECONDS = 86_400;
const MAX_LIFETIME_SECONDS = 30 * DAY_SECONDS;

export const SessionStart = z
  .strictObject({
    title: displayText(1, 255)
      .nullable()
      .default(null)
      .meta({ description: 'What the session is about', examples: ['Review of pull request 42'] }),
    delivery_id: idOf('delivery', 'The delivery to this agent that the session processes').nullable().default(null),
    cron_occurrence_id: displayText(1, 128)
      .nullable()
      .default(null)
      .meta({ description: 'The occurrence of a cron job that the session processes', examples: [null] }),
    user_id: idOf('user', 'The member for whom the session runs').nullable().default(null),
    message: FirstMessage,
    expires_in_seconds: integer(1, MAX_LIFETIME_SECONDS)
      .default(DAY_SECONDS)
      .meta({ description: 'After this time, the session expires if it has not ended' }),
  })
  .meta({ id: 'SessionStart', examples: [{ title: 'Review of pull request 42' }] });

/** The new session gets its title unless the request has one. */
type Continues = { readonly id: string; readonly title: string | null };

type Start = Input<typeof SessionStart, 'tenant_id' | 'agent_id'>;

/** @throws Refusal not_found, conflict if it is inactive or deleted */
const loadActiveAgent = async (ctx: Ctx, agent_id: string): Promise<Loaded<Agent.Agent>> => {
  const agent = await ctx.load(Agent, agent_id);
  const { status, is_active } = agent.state;
  if (status === 'deleted' || status === 'released') throw conflict('/path/agent_id', 'agent_deleted', 'The agent is deleted');
  Agent.assertExists(agent.state);
  if (!is_active) throw conflict('/path/agent_id', 'agent_inactive', 'The agent is inactive: activate it to start sessions');
  return agent;
};

/** What is processed in the session, and the cause for which its costs are counted. */
type Origin = Session.Cause & { readonly delivery_id: string | null; readonly cron_occurrence_id: string | null };

/** @throws Refusal invalid if no such delivery was sent to the agent, or it belongs to another occurrence */
const originOfDelivery = async (ctx: Ctx, { agent_id, cron_occurrence_id }: Start, delivery_id: string): Promise<Origin> => {
  const { agent_id: latest, facts } = (await ctx.load(Delivery, delivery_id)).state;
  if (!facts || (latest !== agent_id && facts.agent_id !== agent_id))
    throw invalid('/delivery_id', 'is not a delivery to this agent', 'unknown_delivery');
  const { skill_id, integration_id, cron, benchmark } = facts;
  const occurrence_id = cron?.occurrence_id ?? null;
  if (cron_occurrence_id !== null && cron_occurrence_id !== occurrence_id)
    throw invalid('/cron_occurrence_id', 'is not the occurrence of the delivery', 'unknown_occurrence');
  const ids = { delivery_id, cron_occurrence_id: occurrence_id };
  if (cron) return { ...ids, cause_kind: 'cron_job', cause_id: cron.job_id };
  if (benchmark !== undefined) return { ...ids, cause_kind: 'benchmark', cause_id: integration_id };
  return skill_id === undefined
    ? { ...ids, cause_kind: 'webhook', cause_id: integration_id }
    : { ...ids, cause_kind: 'skill', cause_id: skill_id };
};

/**
 * Includes the delivery by which the job called the agent, if any. @throws Refusal invalid if no such occurrence has fired for the agent
 */
const originOfOccurrence = async (ctx: Ctx, agent_id: string, cron_occurrence_id: string): Promise<Origin> => {
  const run = CronRun.isOccurrenceId(cron_occurrence_id) ? (await ctx.load(CronRun, cron_occurrence_id)).state : CronRun.initial;
  if (run.decision !== 'fired' || (run.agent_id !== agent_id && run.target_agent_id !== agent_id))
    throw invalid('/cron_occurrence_id', 'is not an occurrence that fired for this agent', 'unknown_occurrence');
  const delivery_id = run.target_agent_id === agent_id ? run.delivery_id : null;
  return { delivery_id, cron_occurrence_id, cause_kind: 'cron_job', cause_id: run.job_id };
};

/** Reads the origin from the request that starts the session. @throws Refusal invalid */
const originOf = async (ctx: Ctx, input: Start): Promise<Origin> => {
  const { agent_id, delivery_id, cron_occurrence_id, user_id } = input;
  if (delivery_id !== null) return originOfDelivery(ctx, input, delivery_id);
  if (cron_occurrence_id !== null) return originOfOccurrence(ctx, agent_id, cron_occurrence_id);
  const user = user_id ?? (ctx.principal.kind === 'user' ? ctx.principal.user_id : null);
  const none = { delivery_id, cron_occurrence_id };
  return user === null ? { ...none, cause_kind: 'runner', cause_id: null } : { ...none, cause_kind: 'user', cause_id: user };
};

/** @throws Refusal invalid if the user is not a member of the tenant */
const checkMember = async (ctx: Ctx, user_id: string): Promise<void> => {
  if (!(await ctx.load(Tenant, ctx.tenant)).state.members[user_id])
    throw invalid('/user_id', 'is not a member of this tenant', 'unknown_member');
};

/** Fields about the agent and the origin of the session. @throws Refusal not_found, conflict, budget_exceeded, invalid */
const recordedFields = async (ctx: Ctx, input: Start) => {
  const { agent_id, user_id } = input;
  const agent = await loadActiveAgent(ctx, agent_id);
  await requireBudget(ctx, agent);
  const origin = await originOf(ctx, input);
  if (user_id !== null) await checkMember(ctx, user_id);
  const { primary, position } = await readModelChain(ctx, agent);
  const model_ids = agent.state.models.map(({ model_id }) => model_id);
  return { agent_revision: agent.revision, model_ids, model_id: primary, position, ...origin };
};

const RUNNER_MESSAGE = 'may only be set by a person: a runner appends its messages after the start';

/** Returns the title as it may be stored; a person's title is also screened. @throws Refusal invalid */
const titleOf = async (ctx: Ctx, { title }: Start, continues: Continues | null): Promise<string | null> => {
  if (title === null) return continues?.title ?? null;
  return ctx.sideEffect(() => storableText(ctx, '/title', title));
};

/** Only a session that a person starts is sent to the runner. */
const decisionOf = async (ctx: Ctx, id: string, data: Parameters<typeof SentEvent.assign>[0], { message }: Start) => {
  if (ctx.principal.kind === 'runner') return Session.start(data);
  const first = message && (await personMessage(ctx, id, { pointer: '/message/content', content: message.content }));
  return SentEvent.assign(data, first?.message ?? null);
};

/**
 * Records the agent's revision and model chain. `continues`: the session that the new one continues.
 * @throws Refusal not_found, conflict if the agent is inactive or deleted, budget_exceeded, invalid
 */
export const startSession = async (ctx: Ctx, input: Start, continues: Continues | null = null) => {
  const { agent_id, user_id, expires_in_seconds, message } = input;
  if (message && ctx.principal.kind === 'runner') throw invalid('/message', RUNNER_MESSAGE, 'person_only');
  // A repeat with the same Idempotency-Key succeeds even if the agent has become inactive.
  const recorded = await ctx
    .sideEffect(() => recordedFields(ctx, input))
    .catch(async (error: unknown) => {
      if (error instanceof Refusal && error.code === 'budget_exceeded') await recordRefusedSession(ctx, agent_id);
      throw error;
    });
  const expires_at = new Date(Date.parse(ctx.at()) + expires_in_seconds * 1_000).toISOString();
  const id = ctx.newId();
  const title = await titleOf(ctx, input, continues);
  const data = { agent_id, title, user_id, expires_at, ...recorded, continues_id: continues?.id ?? null };
  const decide = await decisionOf(ctx, id, data, input);
  return sessionView(ctx, await ctx.transact(Session, id, decide, { expectNew: true }));
};
