import { z } from 'zod';
import {
  AdminModelUpdate,
  closeModelToTenant,
  ModelCreate,
  openModelToTenant,
  registerModel,
  updateModel,
} from '../../commands/agents/model.ts';
import { allModels, MODEL_SORTS, modelsOpenToTenant } from '../../projections/agents/model.queries.ts';
import { ModelListRead, ModelRead, models } from '../../projections/agents/model.ts';
import { operation } from '../http/operation.ts';
import { listQuery, windowOf } from '../http/paging.ts';

const query = listQuery({}, MODEL_SORTS);

export const modelOperations = {
  listModels: operation({
    method: 'get',
    path: '/tenant/:tenant_id/models',
    summary: 'List the models that are available to the tenant',
    permit: 'tenant:read',
    query,
    reply: z.array(ModelListRead),
    projection: models.name,
    run: (ctx, window) => modelsOpenToTenant(ctx.reads, ctx.tenant, windowOf(window, MODEL_SORTS)),
  }),
  listAllModels: operation({
    method: 'get',
    path: '/admin/models',
    summary: "List the platform's models",
    permit: 'platform',
    query,
    reply: z.array(ModelRead),
    projection: models.name,
    run: (ctx, window) => allModels(ctx.reads, windowOf(window, MODEL_SORTS)),
  }),
  registerModel: operation({
    method: 'post',
    path: '/admin/models',
    summary: 'Register a model',
    permit: 'platform',
    body: ModelCreate,
    reply: ModelRead,
    status: 201,
    location: '/admin/models/:id',
    run: registerModel,
  }),
  updateModel: operation({
    method: 'patch',
    path: '/admin/models/:model_id',
    summary: 'Update a model',
    details: 'Absent fields stay unchanged; null clears or resets a field.',
    permit: 'platform',
    body: AdminModelUpdate,
    reply: ModelRead,
    run: updateModel,
  }),
  openModelToTenant: operation({
    method: 'put',
    path: '/admin/models/:model_id/tenants/:tenant_id',
    summary: 'Let a tenant use a model',
    details: 'For a model that is not available to all tenants.',
    permit: 'platform',
    run: openModelToTenant,
  }),
  closeModelToTenant: operation({
    method: 'delete',
    path: '/admin/models/:model_id/tenants/:tenant_id',
    summary: 'Stop a tenant from using a model',
    details: 'The model stays in chains of agents that have it.',
    permit: 'platform',
    run: closeModelToTenant,
  }),
};
