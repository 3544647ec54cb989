import { z } from 'zod';
import type { CodeHost } from '../../commands/agents/code-host.ts';
import type { OAuthClients } from '../../commands/credentials/oauth-clients.ts';
import { type RuntimeSources, readRuntime, recordDisclosure } from '../../commands/runners/agent-runtime.ts';
import type { PackageFiles } from '../../commands/skills/package-files.ts';
import { sha256Of } from '../../domain/digest.ts';
import { idOf } from '../../domain/id.ts';
import { isUnavailable } from '../../domain/refusal.ts';
import { AgentBudgetRead, AgentRead } from '../../projections/agents/agent.ts';
import { memorySummary } from '../../projections/memory/memory-import.queries.ts';
import { ToolRead } from '../../projections/tools/tool.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { RuntimeCredential } from './runtime-credential.ts';

const anyObject = z.record(z.string(), z.unknown());

const RuntimeModel = z.object({
  model_id: idOf('model'),
  provider: z.string().meta({ description: 'The company or service that runs the model', examples: ['anthropic'] }),
  slug: z.string().meta({ description: 'The unique name of the model at its provider', examples: ['claude-sonnet'] }),
  config: anyObject.meta({ description: 'Settings for runners, which can contain secrets', examples: [{ region: 'eu' }] }),
  access: z.enum(['full', 'read_only']).meta({ description: 'What the agent may do with the model' }),
  priority: z.int().meta({ description: 'The place in this list; 0 is the primary model' }),
});

const SHA256 = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';

const RuntimeSkillFile = z.object({
  path: z.string().meta({ description: 'The path in the archive', examples: ['scripts/notes.sh'] }),
  size_bytes: z.int().meta({ description: 'The size of the unpacked file', examples: [1_024] }),
  sha256: z.string().meta({ description: 'The SHA-256 of the unpacked file, in hex', examples: [SHA256] }),
});

const RuntimeMemory = z.object({
  entries: z.int().meta({ description: 'How many entries the memory has', examples: [120] }),
  digest: z.string().meta({
    description: 'Changes whenever entries are added or removed, so that a runner knows when to read the memory again',
    examples: [SHA256],
  }),
  url: z.string().meta({
    description: 'Where the runner reads the memory',
    examples: ['https://annals.example.com/tenant/cx4n0qq6swaykccpuavupuuiu/agents/czgfdv4q2z6ftmeita38ua7fz/memory'],
  }),
});

const RuntimeSkill = z.object({
  id: idOf('skill'),
  slug: z.string().meta({ description: 'The unique name of the skill in its tenant', examples: ['release-notes'] }),
  version: z.int().meta({ description: 'The version of the skill; 1 at first', examples: [1] }),
  digest: z.string().meta({
    description: 'The SHA-256 of the content of the skill, in hex',
    examples: [SHA256],
  }),
  instructions: z.string().meta({ description: 'What the agent does with the skill', examples: ['Write the release notes.'] }),
  config: anyObject
    .nullable()
    .meta({ description: 'The configuration for this agent; null if there is none', examples: [{ channel: 'releases' }] }),
  package_digest: z
    .string()
    .nullable()
    .meta({ description: 'The SHA-256 of the zip archive of an imported skill; null if it has none', examples: [SHA256] }),
  files: z
    .array(RuntimeSkillFile)
    .nullable()
    .meta({ description: 'The files in the archive; null if there is no archive, or if it cannot be read now' }),
});

const RuntimeRepo = z.object({
  url: z
    .string()
    .meta({ description: "The git repository of the agent's code", examples: ['https://git.example.com/agents/reviewer.git'] }),
  code_ref: z.string().meta({ description: 'The branch or tag to check out', examples: ['main'] }),
  token: z
    .string()
    .nullable()
    .meta({ description: 'The token for the host of the repository; null if it needs none', examples: [null] }),
});

export const AgentRuntime = z
  .object({
    agent: AgentRead.meta({ description: 'The settings of the agent' }),
    position: z.string().meta({ description: 'The consistency token of the newest event that this shows', examples: ['1024:1024'] }),
    models: z.array(RuntimeModel).meta({ description: 'The models in their order, after failover from those that cannot be used' }),
    skills: z.array(RuntimeSkill).meta({ description: 'The skills that the agent may use' }),
    tools: z
      .array(ToolRead.extend({ configuration: anyObject.meta({ description: 'The settings of the tool for this agent', examples: [{}] }) }))
      .meta({ description: 'The tools that the agent may use' }),
    credentials: z
      .array(RuntimeCredential)
      .meta({ description: "The agent's own accounts, and then the credentials of the tenant that were given to it" }),
    repo: RuntimeRepo.nullable().meta({ description: "The agent's code; null if no repository is linked" }),
    budget: AgentBudgetRead.meta({ description: 'What the agent may spend' }),
    memory: RuntimeMemory.nullable().meta({ description: 'The memory of the agent; null while the read models cannot be reached' }),
  })
  .meta({ id: 'AgentRuntime' });

const HEX_DIGITS_OF_ETAG = 32;

/**
 * Returns a summary of the memory of an agent; null while the read models cannot be reached. The runtime is complete
 * without it, so no read of a runtime waits for the read models.
 */
const memoryOf = async (ctx: Ctx, agent_id: string) => {
  try {
    const { entries, changes } = await memorySummary(ctx.reads, { tenant_id: ctx.tenant, agent_id });
    const digest = sha256Of(Buffer.from(`${agent_id} ${changes}`));
    return { entries, digest, url: `${ctx.publicUrl}/tenant/${ctx.tenant}/agents/${agent_id}/memory` };
  } catch (error) {
    if (isUnavailable(error)) return null;
    throw error;
  }
};

const runtimeOf = async (ctx: Ctx, agent_id: string, sources: RuntimeSources) => {
  const runtime = await readRuntime(ctx, agent_id, sources);
  const body = JSON.stringify(AgentRuntime.parse({ ...runtime, memory: await memoryOf(ctx, agent_id) }));
  // The digest is made with a secret key. So the ETag reveals nothing about the secrets in the body.
  const etag = `"${ctx.secrets.digest(body).slice(0, HEX_DIGITS_OF_ETAG)}"`;
  return { body, etag, position: runtime.position, record: () => recordDisclosure(ctx, runtime) };
};

/**
 * Creates the operation that returns an agent's runtime: all that its runner needs to run it. `codeHost` has the tokens
 * of git hosts.
 */
export const agentRuntimeOperationsOf = (codeHost: CodeHost, oauth: Pick<OAuthClients, 'configured'>, packageFiles: PackageFiles) => ({
  getAgentRuntime: operation({
    method: 'get',
    path: '/tenant/:tenant_id/agents/:agent_id/runtime',
    summary: 'Read all that the runner of an agent needs',
    details: 'With secrets in clear text. Each read is recorded, except for one that If-None-Match answers with 304.',
    permit: { all: ['agent:read'], runner: true },
    permissionNote: "Requires the agent's runner key.",
    reply: AgentRuntime,
    run: (ctx, { agent_id }) => runtimeOf(ctx, agent_id, { tokenFor: codeHost.tokenFor, providers: oauth.configured, packageFiles }),
  }),
});
