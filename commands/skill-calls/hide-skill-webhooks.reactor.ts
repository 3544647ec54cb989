import type { AgentEvent } from '../../domain/agents/agent.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { comparePositions, parseToken, type Recorded } from '../../domain/event.ts';
import * as SkillWebhook from '../../domain/skill-calls/skill-webhook.ts';
import type { SkillEvent } from '../../domain/skills/skill.ts';
import * as Skill from '../../domain/skills/skill.ts';
import type { ReactorCtx } from '../context.ts';

type Cause = Extract<AgentEvent | SkillEvent | SkillWebhook.SkillWebhookEvent, { type: (typeof hidingEventTypes)[number] }>;

export type HidingEvent = Recorded<Cause>;

/** After these events, a webhook may have to be hidden. An exposure counts, because the skill may have been deleted or revoked at the same time. */
export const hidingEventTypes = ['SkillDeleted', 'AgentSkillRevoked', 'SkillWebhookExposed'] as const;

const skillIdOf = ({ type, id, data }: HidingEvent): string => (type === 'AgentSkillRevoked' ? data.skill_id : id);

/** Returns why the webhook must be hidden by the present state of skill and agent, regardless of the event. */
const presentReason = async (
  { load }: ReactorCtx,
  { agent_id, id }: SkillWebhook.SkillWebhook,
): Promise<SkillWebhook.HiddenReason | null> => {
  const [skill, agent] = await Promise.all([load(Skill, id), load(Agent, agent_id)]);
  if (skill.state.status === 'deleted') return 'skill_deleted';
  return agent.state.status === 'live' && !agent.state.skills[id] ? 'skill_revoked' : null;
};

/** The event revoked the skill from the webhook's agent: hidden even if it was granted again since. */
const wasRevokedBy = (event: HidingEvent, { agent_id, exposed_through }: SkillWebhook.SkillWebhook): boolean =>
  event.type === 'AgentSkillRevoked' && event.id === agent_id && comparePositions(event.position, parseToken(exposed_through)!) > 0;

/**
 * Hides the webhook of a skill that was deleted, or taken from the webhook's agent. A repeat does nothing.
 * @throws Refusal not_found if the webhook's stream was deleted
 */
export const hideSkillWebhook = async (ctx: ReactorCtx, event: HidingEvent): Promise<void> => {
  const skill_id = skillIdOf(event);
  const { state: webhook } = await ctx.load(SkillWebhook, skill_id);
  if (webhook.status !== 'exposed') return;
  const ofTenant = ctx.inTenant(webhook.tenant_id);
  const reason = wasRevokedBy(event, webhook) ? 'skill_revoked' : await presentReason(ofTenant, webhook);
  if (reason) await ofTenant.transact(SkillWebhook, skill_id, SkillWebhook.hideExposure(webhook.exposed_through, reason));
};
