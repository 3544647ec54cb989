import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { idOf } from '../../domain/id.ts';
import { invalid } from '../../domain/refusal.ts';
import * as SkillWebhook from '../../domain/skill-calls/skill-webhook.ts';
import * as Skill from '../../domain/skills/skill.ts';
import { checkOnce } from '../check-once.ts';
import type { Ctx, Input, Loaded } from '../context.ts';

export const SkillWebhookExpose = z
  .strictObject({ agent_id: idOf('agent', 'The agent that gets the calls; it must have the skill') })
  .meta({ id: 'SkillWebhookExpose' });

/** As in responses. `token`: only if the request has created it. */
export type SkillWebhookView = {
  readonly skill_id: string;
  readonly agent_id: string;
  readonly url: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly token: string | null;
};

type OfSkill = { readonly tenant_id: string; readonly skill_id: string };

const TOKEN_PREFIX = 'ann_skill_';
const TOKEN_CHARACTERS = 40;

const newToken = (ctx: Ctx): string => TOKEN_PREFIX + ctx.secrets.random(TOKEN_CHARACTERS);

const viewOf = (ctx: Ctx, { state, ...loaded }: Loaded<SkillWebhook.SkillWebhook>, token: string | null): Loaded<SkillWebhookView> => {
  const { agent_id, created_at, updated_at } = state;
  const url = `${ctx.publicUrl}${SkillWebhook.webhookPath(loaded.id)}`;
  return { ...loaded, state: { skill_id: loaded.id, agent_id, url, created_at, updated_at, token } };
};

/** @throws Refusal not_found if the tenant does not have this skill */
const checkSkill = async (ctx: Ctx, skill_id: string): Promise<void> => Skill.assertExists((await ctx.load(Skill, skill_id)).state);

/** @throws Refusal not_found if there is no such skill, invalid if the agent does not have it */
const checkGrant = async (ctx: Ctx, skill_id: string, agent_id: string): Promise<void> => {
  await checkSkill(ctx, skill_id);
  const { state: agent } = await ctx.load(Agent, agent_id);
  if (agent.status !== 'live') throw invalid('/agent_id', 'there is no such agent', 'unknown_agent');
  if (!agent.skills[skill_id]) throw invalid('/agent_id', 'the agent does not have this skill: grant it first', 'skill_not_granted');
};

/**
 * Gives the skill a webhook URL and a token. If already exposed, the token stays, and calls go to this agent.
 * @throws Refusal not_found if there is no such skill, invalid if the agent does not have it
 */
export const exposeSkill = async (
  ctx: Ctx,
  { tenant_id, skill_id, agent_id }: Input<typeof SkillWebhookExpose> & OfSkill,
): Promise<Loaded<SkillWebhookView>> => {
  await checkOnce(ctx, () => checkGrant(ctx, skill_id, agent_id));
  const token = newToken(ctx);
  const digest = ctx.secrets.digest(token);
  const loaded = await ctx.transact(SkillWebhook, skill_id, SkillWebhook.expose({ tenant_id, agent_id, digest }));
  const isNew = loaded.state.digest === digest;
  return { ...viewOf(ctx, loaded, isNew ? token : null), existed: !isNew };
};

/** Returns the webhook without its token. @throws Refusal not_found if the skill is not exposed */
export const readSkillWebhook = async (ctx: Ctx, { tenant_id, skill_id }: OfSkill): Promise<Loaded<SkillWebhookView>> => {
  await checkSkill(ctx, skill_id);
  const loaded = await ctx.load(SkillWebhook, skill_id);
  SkillWebhook.assertExposed(loaded.state, tenant_id);
  return viewOf(ctx, loaded, null);
};

/** Calls with the previous token are refused at once. @throws Refusal not_found */
export const rotateSkillToken = async (ctx: Ctx, { tenant_id, skill_id }: OfSkill): Promise<Loaded<SkillWebhookView>> => {
  await checkOnce(ctx, () => checkSkill(ctx, skill_id));
  const token = newToken(ctx);
  return viewOf(ctx, await ctx.transact(SkillWebhook, skill_id, SkillWebhook.rotateToken(tenant_id, ctx.secrets.digest(token))), token);
};

/** All calls of its webhook are refused. @throws Refusal not_found if the skill is not exposed */
export const hideSkill = async (ctx: Ctx, { tenant_id, skill_id }: OfSkill): Promise<Loaded<unknown>> => {
  await checkOnce(ctx, () => checkSkill(ctx, skill_id));
  return ctx.transact(SkillWebhook, skill_id, SkillWebhook.hide(tenant_id));
};

/** Sets `is_exposed`, which the skill's own stream does not contain. */
export const withExposure = async (ctx: Ctx, loaded: Loaded<Skill.Skill>): Promise<Loaded<Skill.Skill>> => {
  const { state } = await ctx.load(SkillWebhook, loaded.id);
  return { ...loaded, state: { ...loaded.state, is_exposed: state.status === 'exposed' } };
};
