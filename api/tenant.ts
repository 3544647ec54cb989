import { z } from 'zod';
import { createTenant, TenantCreate } from '../commands/tenant.ts';
import { tenantPage } from '../projections/tenant.queries.ts';
import { AdminTenantCreated, AdminTenantRead } from '../projections/tenant.ts';
import { operation } from './operation.ts';
import { listQuery, windowOf } from './paging.ts';

export const tenantOperations = {
  listTenants: operation({
    method: 'get',
    path: '/admin/tenants',
    summary: 'List the tenants',
    permit: 'platform',
    query: listQuery({}),
    reply: z.array(AdminTenantRead),
    reads: 'tenants',
    run: (ctx, window) => tenantPage(ctx.reads, windowOf(window, ['created_at', 'name'])),
  }),
  createTenant: operation({
    method: 'post',
    path: '/admin/tenants',
    summary: "Create a tenant; its owner's key is shown this once",
    permit: 'platform',
    body: TenantCreate,
    reply: AdminTenantCreated,
    status: 201,
    location: '/admin/tenants/:id',
    oneTimeSecret: true,
    run: createTenant,
  }),
};
