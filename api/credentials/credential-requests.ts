import { z } from 'zod';
import { requireRunner } from '../../commands/access/require-runner.ts';
import { loadAgent } from '../../commands/agents/agent.ts';
import { CredentialRequestCreate, requestCredential } from '../../commands/credentials/credential-request.ts';
import { CredentialSubmit, requireOnRequest, submitCredential } from '../../commands/credentials/submit-credential.ts';
import { CREDENTIAL_REQUEST_SORTS, credentialRequestPage } from '../../projections/credentials/credential-request.queries.ts';
import { CredentialRequestRead, credentialRequests } from '../../projections/credentials/credential-request.ts';
import { operation } from '../http/operation.ts';
import { listQuery, windowOf } from '../http/paging.ts';

const REQUESTS = '/tenant/:tenant_id/agents/:agent_id/credential-requests';

/** The operations on requests for credentials. A runner requests a value, and a person provides it. */
export const credentialRequestOperations = {
  listCredentialRequests: operation({
    method: 'get',
    path: REQUESTS,
    summary: 'List what the runner of the agent has asked for',
    permit: 'agent:read',
    query: listQuery({}, CREDENTIAL_REQUEST_SORTS),
    reply: z.array(CredentialRequestRead),
    projection: credentialRequests.name,
    run: async (ctx, { tenant_id, agent_id, ...window }) => {
      await loadAgent(ctx, agent_id);
      return credentialRequestPage(ctx.reads, { tenant_id, agent_id }, ctx.at(), windowOf(window, CREDENTIAL_REQUEST_SORTS));
    },
  }),
  requestCredential: operation({
    method: 'post',
    path: REQUESTS,
    summary: 'Ask for a value that a skill needs',
    details:
      'People see the request in the list. When one of them answers it, the runner gets a message of the type `annals.credential.fulfilled`, and the value is in the configuration of the skill in the runtime. A request expires after 7 days.',
    permit: { all: ['agent:read'], runner: true },
    permissionNote: "Requires the agent's runner key.",
    preauthorize: (ctx, { agent_id }) => requireRunner(ctx, agent_id!),
    body: CredentialRequestCreate,
    reply: CredentialRequestRead,
    status: 201,
    location: `${REQUESTS}/:id`,
    run: requestCredential,
  }),
  submitCredential: operation({
    method: 'post',
    path: '/tenant/:tenant_id/credentials',
    summary: 'Answer a credential request',
    details:
      "The value becomes a field of the agent's configuration of the skill. It is encrypted at once, and appears in no message, session or log. 409 if the request is fulfilled or has expired.",
    permit: 'tenant:read',
    permissionNote: 'Requires the permission `agent:skills:write` on the agent of the request.',
    preauthorize: async (ctx, _, readBody) => requireOnRequest(ctx, await readBody()),
    body: CredentialSubmit,
    run: submitCredential,
  }),
};
