import { loadAgent } from '../../commands/agents/agent.ts';
import { type CreateBrokerUser, issueRunnerCredential, revokeRunnerCredential } from '../../commands/runners/runner-credential.ts';
import { RUNNER_CREDENTIAL_SORTS, runnerCredentialPage } from '../../projections/runners/runner-credential.queries.ts';
import { RunnerCredentialIssued, RunnerCredentialRead, runnerCredentials } from '../../projections/runners/runner-credential.ts';
import { operation } from '../http/operation.ts';
import { listQuery, windowOf } from '../http/paging.ts';

const path = '/tenant/:tenant_id/agents/:agent_id/runner-credentials';
const permit = { all: ['agent:settings:write'], runner: true } as const;

/**
 * Creates the operations on runner credentials, with which runners sign in to the message broker. `createUser` creates
 * the broker's user for a credential.
 */
export const runnerCredentialOperations = (createUser: CreateBrokerUser) => ({
  listRunnerCredentials: operation({
    method: 'get',
    path,
    summary: "List an agent's broker credentials",
    details: 'Without their secrets.',
    permit,
    query: listQuery({}, RUNNER_CREDENTIAL_SORTS),
    reply: RunnerCredentialRead.array(),
    projection: runnerCredentials.name,
    run: async (ctx, { tenant_id, agent_id, ...query }) => {
      await loadAgent(ctx, agent_id);
      return runnerCredentialPage(ctx.reads, { tenant_id, agent_id }, windowOf(query, RUNNER_CREDENTIAL_SORTS));
    },
  }),
  issueRunnerCredential: operation({
    method: 'post',
    path,
    summary: 'Issue a broker credential to a runner',
    details: 'With it, a runner receives the messages of its agent from the broker for at most an hour.',
    permit,
    reply: RunnerCredentialIssued,
    status: 201,
    location: `${path}/:id`,
    oneTimeSecret: true,
    run: issueRunnerCredential(createUser),
  }),
  revokeRunnerCredential: operation({
    method: 'delete',
    path: `${path}/:id`,
    summary: 'Revoke a broker credential before it expires',
    permit: 'agent:settings:write',
    run: revokeRunnerCredential,
  }),
});
