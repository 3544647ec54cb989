import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { AGENT_FIELDS } from '../../domain/agents/agent-fields.ts';
import { CodeRef, linkRepo, NO_REPO, pinCodeRef, type RefSet, RepoUrl, unknownRef } from '../../domain/agents/code-ref.ts';
import { invalid, type Refusal } from '../../domain/refusal.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { loadAgent } from './agent.ts';
import { type CodeHost, refusalOfHost } from './code-host.ts';

export const AgentCodeRefUpdate = z
  .strictObject({ code_ref: CodeRef.meta(AGENT_FIELDS.code_ref) })
  .meta({ id: 'AgentCodeRefUpdate', examples: [{ code_ref: 'release-2' }] });

export const AgentRepoUpdate = z
  .strictObject({
    url: RepoUrl.nullable().meta({
      description: 'The https URL of the git repository; null: the agent has no repository',
      examples: ['https://github.com/acme/reviewer.git'],
    }),
    code_ref: CodeRef.nullish().meta({
      description: 'The branch or tag; absent: the present one if the repository has it, else its HEAD branch; null: the HEAD branch',
      examples: ['main'],
    }),
  })
  .meta({ id: 'AgentRepoUpdate', examples: [{ url: 'https://github.com/acme/reviewer.git', code_ref: 'main' }] });

type OfAgent<Body extends z.ZodType> = Input<Body, 'tenant_id' | 'agent_id'>;
type LoadedAgent = Promise<Loaded<Agent.Agent>>;

/** Returns why a branch or tag is refused; null if the repository has it. Asks the host if its lists do not show whether it exists. */
const refusalOfRef = async (host: CodeHost, url: string, code_ref: string, pointer: string): Promise<Refusal | null> => {
  const listed = await host.listRefs(url);
  if (listed.branches.includes(code_ref) || listed.tags.includes(code_ref)) return null;
  if (listed.complete && !listed.isCached) return unknownRef(code_ref, listed);
  if (listed.failed?.failure === 'no_repository' || listed.failed?.failure === 'forbidden') return refusalOfHost(listed.failed, pointer);
  const { value, failed } = await host.hasRef(url, code_ref);
  if (value) return null;
  return failed && !listed.complete ? refusalOfHost(failed, pointer) : unknownRef(code_ref, listed);
};

/** The branch of HEAD. @throws Refusal invalid if there is none, and the refusals of `refusalOfHost` */
const headBranch = async (host: CodeHost, url: string): Promise<string> => {
  const { value, failed } = await host.headBranch(url);
  if (failed) throw refusalOfHost(failed, '/url');
  if (value === null || !CodeRef.safeParse(value).success)
    throw invalid('/code_ref', 'The repository has no HEAD branch: name a branch or tag in code_ref', 'no_head_branch');
  return value;
};

const UNKNOWN_REF = (refusal: Refusal): boolean => refusal.extra.errors?.[0]?.code === 'unknown_ref';

/** The branch or tag to link: that of the request; otherwise the agent's present one, if the new repository has it; otherwise the branch of HEAD. */
const refToLink = async (host: CodeHost, agent: Agent.Agent, url: string, wanted: string | null | undefined): Promise<string> => {
  const name = wanted === undefined && agent.repo_url !== null ? agent.code_ref : wanted;
  if (!name) return headBranch(host, url);
  const refusal = await refusalOfRef(host, url, name, '/url');
  if (!refusal) return name;
  if (wanted || !UNKNOWN_REF(refusal)) throw refusal;
  return headBranch(host, url);
};

/** Null removes the link. The host must confirm the branch or tag. @throws Refusal not_found, invalid, unavailable, bad_gateway */
export const linkAgentRepo =
  (host: CodeHost) =>
  async (ctx: Ctx, { agent_id, url, code_ref }: OfAgent<typeof AgentRepoUpdate>): LoadedAgent => {
    const { state } = await loadAgent(ctx, agent_id);
    if (url === null) {
      if (code_ref) throw invalid('/code_ref', 'must be absent if url is null', 'no_repository');
      return ctx.transact(Agent, agent_id, linkRepo(NO_REPO));
    }
    const isUnchanged = url === state.repo_url && (code_ref === undefined || code_ref === state.code_ref);
    const linked = isUnchanged ? state.code_ref : await ctx.sideEffect(() => refToLink(host, state, url, code_ref));
    return ctx.transact(Agent, agent_id, linkRepo({ repo_url: url, code_ref: linked }));
  };

/** @throws Refusal not_found, conflict, unavailable, bad_gateway, invalid if the repository does not have it */
export const pinAgentCodeRef =
  (host: CodeHost) =>
  async (ctx: Ctx, { agent_id, code_ref }: OfAgent<typeof AgentCodeRefUpdate>): LoadedAgent => {
    const { repo_url, code_ref: pinned } = (await loadAgent(ctx, agent_id)).state;
    const refusal = repo_url === null || code_ref === pinned ? null : await refusalOfRef(host, repo_url, code_ref, '/code_ref');
    if (refusal) throw refusal;
    return ctx.transact(Agent, agent_id, pinCodeRef(repo_url, code_ref));
  };

/** The lists are empty, and marked as incomplete, if the host cannot be read. */
export const listAgentRefs =
  (host: CodeHost) =>
  async (ctx: Ctx, { agent_id }: { readonly agent_id: string }): Promise<Loaded<RefSet>> => {
    const agent = await loadAgent(ctx, agent_id);
    const { repo_url } = agent.state;
    const { branches, tags, complete } = repo_url === null ? { branches: [], tags: [], complete: false } : await host.listRefs(repo_url);
    return { ...agent, state: { branches, tags, complete } };
  };
