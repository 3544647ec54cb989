import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { assertCloneable, clone, slugOf, withSuffix } from '../../domain/agents/agent-clone.ts';
import { AGENT_FIELDS } from '../../domain/agents/agent-fields.ts';
import { notFound, Refusal, slugTaken } from '../../domain/refusal.ts';
import * as Skill from '../../domain/skills/skill.ts';
import * as SlackConfig from '../../domain/slack/slack-config.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { createUnique } from '../create-unique.ts';
import type { CheckAgentLimit } from './agent.ts';

export const AgentClone = z
  .strictObject({
    name: Agent.AgentName.meta({ ...AGENT_FIELDS.name, description: 'The name of the copy; another one than that of the agent' }),
  })
  .meta({ id: 'AgentClone', examples: [{ name: 'Second Reviewer' }] });

const SEARCH_BATCH = 20;

/** `pages` yields ids of the caller's tenants. @throws Refusal not_found if the caller may read the agent in none, even if it exists */
export const findTenantOfAgent = async (ctx: Ctx, agent_id: string, pages: AsyncIterable<readonly string[]>): Promise<string> => {
  const isReadable = async (tenant: string): Promise<boolean> => {
    const inside = ctx.inTenant(tenant);
    const { state } = await inside.load(Agent, agent_id);
    return state.status === 'live' && (await inside.may('agent:read', agent_id));
  };
  for await (const tenants of pages)
    for (let first = 0; first < tenants.length; first += SEARCH_BATCH) {
      const batch = tenants.slice(first, first + SEARCH_BATCH);
      const readable = await Promise.all(batch.map(isReadable));
      const found = batch.find((_, index) => readable[index]);
      if (found) return found;
    }
  throw notFound();
};

/** One event contains the whole copy, and the event store limits the size of events. */
const TOO_LARGE =
  'The agent is too large to be copied: its texts and the configurations of its tools must have less than 1,000,000 bytes together';

/** The last number that is tried at the end of a slug, before random characters. */
const MAX_NUMBER = 9;
const MAX_RANDOM_SLUGS = 5;

function* slugsFor(ctx: Ctx, name: string): Generator<string, void> {
  const slug = slugOf(name);
  yield slug;
  for (let number = 2; number <= MAX_NUMBER; number++) yield withSuffix(slug, String(number));
  for (let count = 0; count < MAX_RANDOM_SLUGS; count++) yield withSuffix(slug, ctx.newId().slice(1, 9));
}

type Create = (slug: string, generation: number) => Agent.AgentEvent[];

/** The slug of a deleted agent counts as taken, so that it can be restored. The platform chooses the slug of a copy, and tries the next one. */
const claim = (slug: string, generation: number, checkAgentLimit: CheckAgentLimit, create: Create) => (agent: Agent.Agent) => {
  if (agent.status === 'released') return [];
  if (agent.status !== 'absent') throw slugTaken(`The slug ${slug} is taken`);
  checkAgentLimit();
  return create(slug, generation);
};

const createUnderFreeSlug = async (
  ctx: Ctx,
  name: string,
  checkAgentLimit: CheckAgentLimit,
  create: Create,
): Promise<Loaded<Agent.Agent>> => {
  for (const slug of slugsFor(ctx, name)) {
    const created = await createUnique(ctx, Agent, {
      kind: 'agent',
      key: slug,
      claim: (generation) => claim(slug, generation, checkAgentLimit, create),
      isClosed: ({ status }) => status === 'released',
    }).catch((error) => {
      if (error instanceof Refusal && error.code === 'slug_taken') return null;
      throw error instanceof Refusal && error.code === 'too_large' ? new Refusal('too_large', TOO_LARGE) : error;
    });
    if (created) return created;
  }
  throw slugTaken('Every slug that was derived from the name is taken: choose another name');
};

/**
 * The copy's owner can read the instructions of its skills through its runner: it gets all only if the caller may already read them, as a
 * member or through the source; otherwise those that everyone in the tenant may see.
 */
const copiedSkills = async (ctx: Ctx, source: Agent.Agent): Promise<ReadonlySet<string>> => {
  const isRunnerOwner = (await ctx.may('agent:settings:write', source.id)) && (await ctx.may('agent:skills:write', source.id));
  const seesAll = isRunnerOwner || (await ctx.may('tenant:skills:write'));
  const skills = await Promise.all(Object.keys(source.skills).map((skill_id) => ctx.load(Skill, skill_id)));
  const copied = skills.filter(({ state }) => Skill.isVisible(state, { seesAll }));
  return new Set(copied.map(({ id }) => id));
};

/** The calling user becomes the only OWNER. @throws Refusal not_found, forbidden, invalid, plan_limit, rate_limited, precondition_failed */
export const cloneAgent = async (
  ctx: Ctx,
  { source_id, name }: Input<typeof AgentClone, 'source_id'>,
  checkAgentLimit: CheckAgentLimit,
): Promise<Loaded<Agent.Agent>> => {
  const owner_id = ctx.principal.kind === 'user' ? ctx.principal.user_id : null;
  // Reads the present states from the log and appends no event. The first call also checks If-Match.
  const source = await ctx.transact(Agent, source_id, (agent) => {
    assertCloneable(agent, name);
    return [];
  });
  await ctx.limitFlow('clone');
  const { state: config } = await ctx.transact(SlackConfig, source_id, () => []);
  const slack_config = SlackConfig.settingsInEffect(config, source.state.inherited_slack_config);
  const skill_ids = await copiedSkills(ctx, source.state);
  return createUnderFreeSlug(ctx, name, checkAgentLimit, (slug, generation) =>
    clone(source.state, { slack_config, skill_ids }, { name, slug, generation, owner_id, source_revision: source.revision })(),
  );
};
