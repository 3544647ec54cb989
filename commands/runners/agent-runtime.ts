import type * as Agent from '../../domain/agents/agent.ts';
import { modelsAfterFailover } from '../../domain/agents/failover.ts';
import * as Model from '../../domain/agents/model.ts';
import * as Disclosure from '../../domain/audit/disclosure.ts';
import { comparePositions, type Position, tokenOf } from '../../domain/event.ts';
import { usdOf } from '../../domain/money.ts';
import { requireRunner } from '../access/require-runner.ts';
import type { CodeHost } from '../agents/code-host.ts';
import type { Ctx, Loaded } from '../context.ts';
import { runtimeCredentials } from '../credentials/runtime-credentials.ts';
import { loadUsableSkills } from '../skills/agent-skills.ts';
import type { PackageFiles } from '../skills/package-files.ts';
import { openSkillConfig } from '../skills/skill-config.ts';
import { loadTools } from '../tools/tool.ts';

/** Loads the models with these ids, and all models of their failover chains, by id. */
const loadWithFailovers = async (ctx: Ctx, ids: readonly string[]): Promise<Map<string, Loaded<Model.Model>>> => {
  const found = new Map<string, Loaded<Model.Model>>();
  for (let next = [...ids]; next.length > 0; ) {
    for (const loaded of await Promise.all(next.map((id) => ctx.load(Model, id)))) found.set(loaded.id, loaded);
    next = [...new Set(next.flatMap((id) => found.get(id)!.state.failover_chain))].filter((id) => !found.has(id));
  }
  return found;
};

const modelsOf = async (ctx: Ctx, agent: Agent.Agent) => {
  const loaded = await loadWithFailovers(
    ctx,
    agent.models.map(({ model_id }) => model_id),
  );
  const used = modelsAfterFailover(agent.models, ctx.tenant, (id) => loaded.get(id)?.state);
  return {
    models: used.map(({ model: { id, provider, slug, config }, ...rest }) => ({ model_id: id, provider, slug, config, ...rest })),
    loaded: [...loaded.values()],
  };
};

/** Returns the skills that the agent may use, with decrypted configuration and files. */
const skillsOf = async (ctx: Ctx, agent: Loaded<Agent.Agent>, packageFiles: PackageFiles) => {
  const { usable, loaded } = await loadUsableSkills(ctx, agent.state);
  const skills = await Promise.all(
    usable.map(async ({ id, state: { slug, version, digest, instructions, package_digest } }) => {
      const config = await openSkillConfig(ctx, agent, id);
      const files = package_digest === null ? null : await packageFiles(ctx.blobs, package_digest);
      return { id, slug, version, digest, instructions, config, package_digest, files };
    }),
  );
  return { skills, loaded };
};

const toolsOf = async (ctx: Ctx, { tools: granted }: Agent.Agent) => {
  const loaded = await loadTools(
    ctx,
    Object.keys(granted).filter((id) => granted[id]!.is_enabled),
  );
  const tools = loaded.map(({ id, state: { status: _, ...tool } }) => ({ ...tool, configuration: granted[id]!.configuration }));
  return { tools, loaded };
};

const newestOf = (all: readonly Loaded<unknown>[]): Position =>
  all
    .map(({ position }) => position)
    .filter((position) => position !== null)
    .reduce((newest, position) => (comparePositions(position, newest) > 0 ? position : newest));

/** The primary model after failover, if any. `position`: newest event of the agent and its models, as a consistency token. */
export const readModelChain = async (ctx: Ctx, agent: Loaded<Agent.Agent>) => {
  const { models, loaded } = await modelsOf(ctx, agent.state);
  return { primary: models[0]?.model_id ?? null, position: tokenOf(newestOf([agent, ...loaded])) };
};

/** What is not in the log: tokens for git hosts, names of OAuth providers, files of skills. */
export type RuntimeSources = {
  readonly tokenFor: CodeHost['tokenFor'];
  readonly providers: readonly string[];
  readonly packageFiles: PackageFiles;
};

/** Secrets are in clear text. */
export type AgentRuntime = Awaited<ReturnType<typeof readRuntime>>;

/**
 * All that the runner needs; secrets of accounts and credentials, and the repository's token, are in clear text.
 * @throws Refusal not_found if the agent does not exist, forbidden if the caller does not use its runner key
 */
export const readRuntime = async (ctx: Ctx, agent_id: string, { tokenFor, providers, packageFiles }: RuntimeSources) => {
  const agent = await requireRunner(ctx, agent_id);
  const { state } = agent;
  const [models, skills, tools, identities] = await Promise.all([
    modelsOf(ctx, state),
    skillsOf(ctx, agent, packageFiles),
    toolsOf(ctx, state),
    runtimeCredentials(ctx, state, providers),
  ]);
  const newest = newestOf([agent, ...models.loaded, ...skills.loaded, ...tools.loaded, ...identities.loaded]);
  const { hourly_limit_micros } = state;
  return {
    agent: state,
    position: tokenOf(newest),
    models: models.models,
    skills: skills.skills,
    tools: tools.tools,
    credentials: identities.credentials,
    repo: state.repo_url === null ? null : { url: state.repo_url, code_ref: state.code_ref, token: tokenFor(state.repo_url) },
    budget: { hourly_limit_usd: hourly_limit_micros === null ? null : usdOf(hourly_limit_micros) },
  };
};

/** Records in the tenant's audit log which secrets were read, without the secrets themselves. */
export const recordDisclosure = (ctx: Ctx, { agent, position, models, skills, tools, credentials, repo }: AgentRuntime) => {
  const data: Disclosure.DisclosedRuntime = {
    agent_id: agent.id,
    position,
    models: models.map(({ model_id }) => model_id),
    skills: skills.map(({ id, version, config, package_digest }) => ({
      skill_id: id,
      version,
      has_config: config !== null,
      package_digest,
    })),
    tools: tools.map(({ id }) => id),
    credentials: credentials.map(({ identity_id, provider, label }) => ({ identity_id, provider, label })),
    repo_token_of: repo?.token ? repo.url : null,
  };
  return ctx.transact(Disclosure, ctx.newId(), Disclosure.record({ type: 'RuntimeDisclosed', data }), { expectNew: true });
};
