import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { jsonEqual } from '../../domain/aggregate.ts';
import * as Disclosure from '../../domain/audit/disclosure.ts';
import { secret } from '../../domain/secret.ts';
import { clearConfig, replaceConfig } from '../../domain/skills/agent-skills.ts';
import type { Ctx, Input, Loaded, SecretLocation } from '../context.ts';
import { assertMatches, JsonObjectField } from '../json-schema-validator.ts';
import { loadAgentSkill } from './agent-skills.ts';

type Config = z.output<typeof JsonObjectField>;

export const AgentSkillConfigUpdate = z
  .strictObject({
    config: JsonObjectField.nullable()
      .default(null)
      .meta({
        description: 'The whole configuration, which replaces the present one; null clears it',
        examples: [{ channel: 'releases' }],
      }),
  })
  .meta({ id: 'AgentSkillConfigUpdate' });

export type SkillConfigView = { readonly agent_id: string; readonly skill_id: string; readonly config: Config | null };

export const skillConfigLocation = (ctx: Pick<Ctx, 'tenant'>, agent_id: string, skill_id: string): SecretLocation => ({
  tenant: ctx.tenant,
  category: Agent.category,
  id: agent_id,
  field: `skill_config.${skill_id}`,
});

/**
 * Decrypts the configuration from its event in the log: the state of the agent does not contain it. Null if there is none.
 * @throws Refusal unavailable
 */
export const openSkillConfig = async (ctx: Ctx, { id, state }: Loaded<Agent.Agent>, skill_id: string): Promise<Config | null> => {
  const stored = state.skills[skill_id]?.config;
  if (!stored) return null;
  for await (const { type, data } of ctx.log.history(Agent, id, { from: stored.revision, limit: 1 }))
    if (type === 'AgentSkillConfigReplaced' || type === 'AgentSkillConfigResealed')
      return JSON.parse((await ctx.secrets.open(skillConfigLocation(ctx, id, skill_id), data.sealed_config)).reveal()) as Config;
  throw new Error(`event ${stored.revision} of the agent ${id} is not a configuration of a skill`);
};

/**
 * Records the read in the tenant's audit log, if there is a configuration.
 * @throws Refusal not_found if the agent does not have the skill, or if it is deleted
 */
export const readSkillConfig = async (
  ctx: Ctx,
  { agent_id, skill_id }: { readonly agent_id: string; readonly skill_id: string },
): Promise<Loaded<SkillConfigView>> => {
  const loaded = await loadAgentSkill(ctx, agent_id, skill_id);
  const config = await openSkillConfig(ctx, loaded, skill_id);
  const disclosed = { type: 'SkillConfigDisclosed', data: { agent_id, skill_id } } as const;
  if (config) await ctx.transact(Disclosure, ctx.newId(), Disclosure.record(disclosed), { expectNew: true });
  return { ...loaded, state: { agent_id, skill_id, config } };
};

/**
 * The revision of the present configuration if the new one equals it; otherwise null.
 * @throws Refusal not_found, invalid if it does not match the skill's schema
 */
const revisionOfEqual = async (ctx: Ctx, { agent_id, skill_id, config }: SkillConfigView): Promise<number | null> => {
  const loaded = await loadAgentSkill(ctx, agent_id, skill_id);
  if (config === null) return null;
  if (loaded.skill.config_schema) assertMatches(ctx.checks, '/config', loaded.skill.config_schema, config);
  const current = await openSkillConfig(ctx, loaded, skill_id);
  return jsonEqual(current, config) ? loaded.state.skills[skill_id]!.config!.revision : null;
};

/**
 * Stores the configuration encrypted. Null removes it.
 * @throws Refusal not_found if the agent does not have the skill or if the skill is deleted, invalid
 */
export const changeSkillConfig = async (
  ctx: Ctx,
  { agent_id, skill_id, config }: Input<typeof AgentSkillConfigUpdate, 'tenant_id' | 'agent_id' | 'skill_id'>,
): Promise<Loaded<SkillConfigView>> => {
  const view = { agent_id, skill_id, config };
  // A repeat with the same Idempotency-Key does not check again, and succeeds even if the skill has changed. The result is stored, so it
  // must not contain the configuration.
  const unchanged = await ctx.sideEffect(() => revisionOfEqual(ctx, view));
  if (config === null) return { ...(await ctx.transact(Agent, agent_id, clearConfig(skill_id))), state: view };
  const sealed = await ctx.secrets.seal(skillConfigLocation(ctx, agent_id, skill_id), secret(JSON.stringify(config)));
  return { ...(await ctx.transact(Agent, agent_id, replaceConfig(skill_id, sealed, unchanged))), state: view };
};
