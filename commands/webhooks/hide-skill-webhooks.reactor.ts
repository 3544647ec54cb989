import type { AgentEvent } from '../../domain/agents/agent.ts';
import * as Agent from '../../domain/agents/agent.ts';
import type { Decision } from '../../domain/aggregate.ts';
import { type Actor, comparePositions, PLATFORM, parseToken, type Recorded } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { SkillEvent } from '../../domain/skills/skill.ts';
import * as Skill from '../../domain/skills/skill.ts';
import * as SkillWebhook from '../../domain/webhooks/skill-webhook.ts';
import type { AggregateReader } from '../context.ts';

type Cause = Extract<AgentEvent | SkillEvent | SkillWebhook.SkillWebhookEvent, { type: (typeof hidingEventTypes)[number] }>;

/** An event after which a webhook may have to be hidden. */
export type HidingEvent = Recorded<Cause>;

/**
 * The types of the events after which a webhook may have to be hidden. The exposure of a skill is one of them, because
 * the skill may have been deleted or revoked at the same time.
 */
export const hidingEventTypes = ['SkillDeleted', 'AgentSkillRevoked', 'SkillWebhookExposed'] as const;

/**
 * Functions that load aggregates, and append the events that a decision about the webhook of a skill returns. They
 * throw Refusal.
 */
export type HidingPorts = Pick<AggregateReader, 'load'> & {
  readonly transact: (
    skill_id: string,
    decide: Decision<SkillWebhook.SkillWebhook, SkillWebhook.SkillWebhookEvent>,
    meta: { readonly tenant: string; readonly actor: Actor; readonly at: string; readonly seed: string },
  ) => Promise<unknown>;
};

const ACTOR: Actor = { kind: 'system', id: 'annals' };

const skillIdOf = ({ type, id, data }: HidingEvent): string => (type === 'AgentSkillRevoked' ? data.skill_id : id);

/**
 * Returns why the webhook must be hidden by the present state of the skill and the agent, regardless of the event; null
 * if it need not be hidden.
 */
const presentReason = async ({ load }: HidingPorts, webhook: SkillWebhook.SkillWebhook): Promise<SkillWebhook.HiddenReason | null> => {
  const { tenant_id, agent_id, id } = webhook;
  const [skill, agent] = await Promise.all([load(Skill, tenant_id, id), load(Agent, tenant_id, agent_id)]);
  if (skill.state.status === 'deleted') return 'skill_deleted';
  return agent.state.status === 'live' && !agent.state.skills[id] ? 'skill_revoked' : null;
};

/**
 * Returns whether this event revoked the skill from the agent of the webhook. Then the webhook is hidden even if the
 * skill was granted to the agent again since.
 */
const wasRevokedBy = (event: HidingEvent, { agent_id, exposed_through }: SkillWebhook.SkillWebhook): boolean =>
  event.type === 'AgentSkillRevoked' && event.id === agent_id && comparePositions(event.position, parseToken(exposed_through)!) > 0;

/**
 * Hides the webhook of a skill that was deleted, or taken from the webhook's agent. A repeat does nothing.
 * @throws Refusal unavailable
 */
export const hideSkillWebhook = async (ports: HidingPorts, event: HidingEvent, at: string): Promise<void> => {
  const skill_id = skillIdOf(event);
  const { state: webhook } = await ports.load(SkillWebhook, PLATFORM, skill_id);
  if (webhook.status !== 'exposed') return;
  const reason = wasRevokedBy(event, webhook) ? 'skill_revoked' : await presentReason(ports, webhook);
  if (!reason) return;
  const meta = { tenant: webhook.tenant_id, actor: ACTOR, at, seed: event.event_id };
  await ports.transact(skill_id, SkillWebhook.hideExposure(webhook.exposed_through, reason), meta).catch((error: unknown) => {
    if (!(error instanceof Refusal) || error.code !== 'not_found') throw error;
  });
};
