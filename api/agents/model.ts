import { z } from 'zod';
import { ModelCreate, registerModel } from '../../commands/agents/model.ts';
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
    run: (ctx, window) => modelsOpenToTenant(ctx.reads, windowOf(window, MODEL_SORTS)),
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
};
