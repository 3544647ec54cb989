import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import {
  agentCredentialView,
  giveAgentCredential,
  loadGivenIdentities,
  takeAgentCredential,
} from '../../commands/credentials/agent-credentials.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { AsOf, listQuery, type PageWindow, paginate } from '../http/paging.ts';

const CREDENTIALS = '/tenant/:tenant_id/agents/:agent_id/credentials';

const AgentCredentialRead = z
  .object({
    identity_id: idOf('linked identity'),
    provider: z.string().meta({ description: 'The service: the id of a provider, or `db:postgres:` and a host', examples: ['github'] }),
    label: z.string().meta({ description: 'What people see in lists', examples: ['GitHub'] }),
    host: z
      .string()
      .nullable()
      .meta({ description: 'The host of the database server; null for an account', examples: [null] }),
    database: z
      .string()
      .nullable()
      .meta({ description: 'The name of the database; null for an account', examples: [null] }),
    connected: z.boolean().meta({ description: 'Whether its secret can be used. If not, connect the account again', examples: [true] }),
    given_at: Timestamp.meta({ description: 'When it was given to the agent' }),
    given_by: idOf('user').nullable().meta({ description: 'The user who gave it; null if it was not a person' }),
  })
  .meta({ id: 'AgentCredentialRead' });

const listAgentCredentials = async (ctx: Ctx, { agent_id, ...window }: PageWindow & { agent_id: string }) => {
  const { state, position } = await loadAgent(ctx, agent_id);
  const given = new Map((await loadGivenIdentities(ctx, state)).map((identity) => [identity.id, identity]));
  const { items, next } = paginate(
    [...given.keys()].map((id) => ({ id, created_at: state.credentials[id]!.given_at })),
    window,
  );
  return {
    body: JSON.stringify(items.map(({ id }) => AgentCredentialRead.parse(agentCredentialView(state, given.get(id)!)))),
    next,
    position,
  };
};

/** The operations on the credentials of the tenant that an agent has. No response contains a secret. */
export const agentCredentialOperations = {
  listAgentCredentials: operation({
    method: 'get',
    path: CREDENTIALS,
    summary: 'List the credentials given to the agent',
    details: 'Those of the tenant. The runner of the agent gets them, with their secrets, in its runtime.',
    permit: 'agent:read',
    query: listQuery({ as_of: AsOf }),
    reply: z.array(AgentCredentialRead),
    run: listAgentCredentials,
  }),
  giveAgentCredential: operation({
    method: 'put',
    path: `${CREDENTIALS}/:identity_id`,
    summary: 'Give the agent a credential of the tenant',
    details:
      'A database or an account of the tenant. Everybody who can create a runner key of the agent can read its secret. The agent has it until it is taken back, the identity is unlinked or gets another user, port or database, or the agent is deleted; a copy of the agent does not get it.',
    permit: { all: ['agent:settings:write', 'tenant:credentials:write'] },
    reply: AgentCredentialRead,
    run: giveAgentCredential,
  }),
  takeAgentCredential: operation({
    method: 'delete',
    path: `${CREDENTIALS}/:identity_id`,
    summary: 'Take a credential from the agent',
    details: 'Its runner gets it no more. Change the password, or revoke the token, if the runner must not use it any longer.',
    permit: { all: ['agent:settings:write', 'tenant:credentials:write'] },
    run: takeAgentCredential,
  }),
};
