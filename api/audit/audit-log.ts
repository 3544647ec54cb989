import { z } from 'zod';
import { auditCount, auditPage } from '../../projections/audit/audit-log.queries.ts';
import { AuditLogRead, audit } from '../../projections/audit/audit-log.ts';
import { operation } from '../http/operation.ts';
import { listQuery, windowOf, withTotalCount } from '../http/paging.ts';
import { AuditFilters, TenantAuditFilters, withSubject } from './audit-filters.ts';

const listing = { method: 'get', reply: z.array(AuditLogRead), projection: audit.name } as const;

export const auditOperations = {
  listAuditLogs: operation({
    ...listing,
    path: '/tenant/:tenant_id/audit-logs',
    summary: "List the tenant's audit log",
    details: 'It says what happened, and who did it.',
    permit: 'tenant:audit:read',
    query: listQuery(TenantAuditFilters),
    run: async (ctx, { tenant_id, limit, cursor, sort, ...filter }) => {
      const page = auditPage(ctx.reads, tenant_id, await withSubject(ctx, filter), windowOf({ limit, cursor, sort }));
      return withTotalCount(filter, page, () => auditCount(ctx.reads, tenant_id));
    },
  }),
  listPlatformAuditLogs: operation({
    ...listing,
    path: '/admin/audit-logs',
    summary: "List the platform's audit log",
    details: 'It contains the events of the platform, and what the platform did to tenants.',
    permit: 'platform',
    query: listQuery(AuditFilters),
    run: (ctx, { limit, cursor, sort, ...filter }) => auditPage(ctx.reads, null, filter, windowOf({ limit, cursor, sort })),
  }),
};
