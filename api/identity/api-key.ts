import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import {
  ApiKeyCreate,
  ApiKeyUpdate,
  createPlatformKey,
  createRunnerKey,
  createTenantKey,
  renameTenantKey,
  revokePlatformKey,
  revokeRunnerKey,
  revokeTenantKey,
} from '../../commands/identity/api-key.ts';
import { Id25 } from '../../domain/id.ts';
import { KEY_SORTS, keyPage } from '../../projections/identity/api-key.queries.ts';
import { ApiKeyCreated, ApiKeyRead, apikeys } from '../../projections/identity/api-key.ts';
import { operation } from '../http/operation.ts';
import { listQuery, windowOf } from '../http/paging.ts';

const query = listQuery({}, KEY_SORTS);
const TENANT = '/tenant/:tenant_id/api-keys';
const PLATFORM = '/admin/api-keys';
const RUNNER = '/tenant/:tenant_id/agents/:agent_id/runner-keys';

const listing = { method: 'get', query, reply: z.array(ApiKeyRead), projection: apikeys.name } as const;
const creation = { method: 'post', body: ApiKeyCreate, reply: ApiKeyCreated, status: 201, oneTimeSecret: true } as const;

export const apiKeyOperations = {
  listApiKeys: operation({
    ...listing,
    path: TENANT,
    summary: "List the tenant's API keys",
    permit: 'tenant:keys:write',
    query: listQuery({ user_id: Id25.optional().meta({ description: 'Only the keys that act for this user' }) }, KEY_SORTS),
    run: (ctx, { user_id, ...window }) =>
      keyPage(ctx.reads, { kind: 'tenant', tenant_id: ctx.tenant, owner_id: user_id }, windowOf(window, KEY_SORTS)),
  }),
  createApiKey: operation({
    ...creation,
    path: TENANT,
    summary: 'Create an API key of the tenant',
    details: 'Only this response shows its text.',
    permit: 'tenant:keys:write',
    location: `${TENANT}/:id`,
    run: createTenantKey,
  }),
  renameApiKey: operation({
    method: 'patch',
    path: `${TENANT}/:id`,
    summary: 'Rename an API key',
    permit: 'tenant:keys:write',
    permissionNote: 'Requires the permission `tenant:keys:write`; keys of OWNERs require the role OWNER.',
    body: ApiKeyUpdate,
    reply: ApiKeyRead,
    run: renameTenantKey,
  }),
  revokeApiKey: operation({
    method: 'delete',
    path: `${TENANT}/:id`,
    summary: 'Revoke an API key',
    permit: 'tenant:keys:write',
    run: revokeTenantKey,
  }),
  listPlatformKeys: operation({
    ...listing,
    path: PLATFORM,
    summary: "List the platform's API keys",
    permit: 'platform',
    run: (ctx, window) => keyPage(ctx.reads, { kind: 'platform' }, windowOf(window, KEY_SORTS)),
  }),
  createPlatformKey: operation({
    ...creation,
    path: PLATFORM,
    summary: 'Create an API key of the platform',
    details: 'Only this response shows its text.',
    permit: 'platform',
    location: `${PLATFORM}/:id`,
    run: createPlatformKey,
  }),
  revokePlatformKey: operation({
    method: 'delete',
    path: `${PLATFORM}/:id`,
    summary: 'Revoke an API key of the platform',
    permit: 'platform',
    run: revokePlatformKey,
  }),
  listRunnerKeys: operation({
    ...listing,
    path: RUNNER,
    summary: "List an agent's runner keys",
    permit: 'agent:settings:write',
    run: async (ctx, { agent_id, ...window }) => {
      await loadAgent(ctx, agent_id);
      return keyPage(ctx.reads, { kind: 'runner', tenant_id: ctx.tenant, agent_id }, windowOf(window, KEY_SORTS));
    },
  }),
  createRunnerKey: operation({
    ...creation,
    path: RUNNER,
    summary: 'Create a runner key of the agent',
    details: 'Only this response shows its text.',
    permit: { all: ['agent:settings:write', 'agent:skills:write'] },
    location: `${RUNNER}/:id`,
    run: createRunnerKey,
  }),
  revokeRunnerKey: operation({
    method: 'delete',
    path: `${RUNNER}/:id`,
    summary: 'Revoke a runner key',
    permit: 'agent:settings:write',
    run: revokeRunnerKey,
  }),
};
