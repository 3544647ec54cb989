import { z } from 'zod';
import type { CodeHost } from '../../commands/agents/code-host.ts';
import { AgentCodeRefUpdate, AgentRepoUpdate, linkAgentRepo, listAgentRefs, pinAgentCodeRef } from '../../commands/agents/code-ref.ts';
import { AgentRead } from '../../projections/agents/agent.ts';
import { operation } from '../http/operation.ts';

const AGENT = '/tenant/:tenant_id/agents/:agent_id';

export const AgentRepoRefs = z
  .object({
    branches: z.array(z.string()).meta({ description: 'The branches, at most 1,000', examples: [['main', 'release-2']] }),
    tags: z.array(z.string()).meta({ description: 'The tags, at most 1,000', examples: [['v1.0.0']] }),
    complete: z
      .boolean()
      .default(false)
      .meta({ description: 'Whether both lists were read to their end, and each has less than 1,000 names', examples: [true] }),
  })
  .meta({ id: 'AgentRepoRefs' });

export const codeRefOperationsOf = (host: CodeHost) => ({
  linkAgentRepo: operation({
    method: 'put',
    path: `${AGENT}/repo`,
    summary: 'Link a git repository to an agent',
    details:
      'The host of the repository is asked for the branch or tag. If it does not answer, nothing changes. A private repository needs a token of the platform for its host.',
    permit: 'agent:settings:write',
    asksOtherHosts: true,
    body: AgentRepoUpdate,
    reply: AgentRead,
    run: linkAgentRepo(host),
  }),
  listAgentRepoRefs: operation({
    method: 'get',
    path: `${AGENT}/repo-refs`,
    summary: "List the branches and tags of an agent's code",
    details:
      'The lists can be up to 60 seconds old. They are empty if the agent has no repository. Names are missing, and `complete` is false, if the host of the repository cannot be read.',
    permit: 'agent:read',
    reply: AgentRepoRefs,
    noETag: true,
    run: listAgentRefs(host),
  }),
  pinAgentCodeRef: operation({
    method: 'patch',
    path: `${AGENT}/code-ref`,
    summary: 'Pin the branch or tag of an agent',
    details:
      "A name that is neither a branch nor a tag of the agent's repository is refused with the most similar names in `nearest`. If the host of the repository cannot be asked, nothing changes.",
    permit: 'agent:settings:write',
    asksOtherHosts: true,
    body: AgentCodeRefUpdate,
    reply: AgentRead,
    run: pinAgentCodeRef(host),
  }),
});
