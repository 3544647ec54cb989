import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { AGENT_FIELDS } from '../../domain/agents/agent-fields.ts';
import { plainFieldsToCreate } from '../../domain/agents/plain-settings.ts';
import { Slug } from '../../domain/fields.ts';
import { omit } from '../../domain/omit.ts';
import { Refusal, slugTaken } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { createUnique } from '../create-unique.ts';

export const AgentCreate = z
  .strictObject({
    name: Agent.AgentName.meta(AGENT_FIELDS.name),
    slug: Slug.meta(AGENT_FIELDS.slug),
    ...plainFieldsToCreate,
    can_author_skills: z.boolean().default(false).meta(AGENT_FIELDS.can_author_skills),
    is_admin_only: z.boolean().default(false).meta(AGENT_FIELDS.is_admin_only),
    kind: z.enum(Agent.AGENT_KINDS).default('user').meta(AGENT_FIELDS.kind),
  })
  .meta({ id: 'AgentCreate', examples: [{ name: 'Reviewer', slug: 'reviewer', description: 'Reviews pull requests' }] });

/** @throws Refusal not_found if it does not exist or is deleted */
export const loadAgent = async (ctx: Ctx, agent_id: string): Promise<Loaded<Agent.Agent>> => {
  const loaded = await ctx.load(Agent, agent_id);
  Agent.assertExists(loaded.state);
  return loaded;
};

/** Called before an agent is created or restored. @throws Refusal plan_limit if the plan allows no more */
export type CheckAgentLimit = () => void;

const claimSlug = (slug: string, checkAgentLimit: CheckAgentLimit, create: () => Agent.AgentEvent[]) => (agent: Agent.Agent) => {
  if (agent.status === 'absent') {
    checkAgentLimit();
    return create();
  }
  if (agent.status === 'live') throw slugTaken(`The slug ${slug} is taken`);
  if (agent.status === 'released') return [];
  // Before the slug is released: a refused creation must not take it from the deleted agent.
  checkAgentLimit();
  return Agent.releaseSlug();
};

/** The calling user becomes OWNER. @throws Refusal slug_taken, plan_limit, forbidden if is_admin_only is set by no OWNER or ADMIN */
export const createAgent = async (
  ctx: Ctx,
  { slug, ...input }: Input<typeof AgentCreate, 'tenant_id'>,
  checkAgentLimit: CheckAgentLimit,
): Promise<Loaded<Agent.Agent>> => {
  const settings = omit(input, 'tenant_id');
  if (settings.is_admin_only && !(await ctx.may('tenant:settings:write')))
    throw new Refusal('forbidden', 'Only an OWNER or ADMIN may set is_admin_only');
  const tenant = await ctx.load(Tenant, ctx.tenant);
  const owner_id = ctx.principal.kind === 'user' ? ctx.principal.user_id : null;
  const { default_skill_visibility_scope: skill_visibility_scope } = tenant.state;
  const create = (generation: number) => Agent.create({ ...settings, slug, generation, owner_id, skill_visibility_scope, is_seed: false });
  return createUnique(ctx, Agent, {
    kind: 'agent',
    key: slug,
    claim: (generation) => claimSlug(slug, checkAgentLimit, create(generation)),
    isClosed: ({ status }) => status === 'released',
  });
};

export const deleteAgent = (ctx: Ctx, { agent_id }: { agent_id: string }) => ctx.transact(Agent, agent_id, Agent.remove);
