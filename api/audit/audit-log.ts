import { z } from 'zod';
import { auditCount, auditPage } from '../../projections/audit/audit-log.queries.ts';
import { AuditLogRead, audit } from '../../projections/audit/audit-log.ts';
import { operation } from '../http/operation.ts';
import { listQuery, TimeRange, windowOf, withTotalCount } from '../http/paging.ts';

const word = z.string().min(1).max(255).optional();
const query = listQuery({
  action: word,
  actor: word,
  resource_type: word,
  resource_id: word,
  agent_id: word,
  ...TimeRange,
});
const listed = { method: 'get', query, reply: z.array(AuditLogRead), projection: audit.name } as const;

export const auditOperations = {
  listAuditLogs: operation({
    ...listed,
    path: '/tenant/:tenant_id/audit-logs',
    summary: 'List what happened in the tenant, and by whom',
    permit: 'tenant:audit:read',
    run: (ctx, { tenant_id, limit, cursor, sort, ...filter }) => {
      const page = auditPage(ctx.reads, tenant_id, filter, windowOf({ limit, cursor, sort }));
      return withTotalCount(filter, page, () => auditCount(ctx.reads, tenant_id));
    },
  }),
  listPlatformAuditLogs: operation({
    ...listed,
    path: '/admin/audit-logs',
    summary: 'List what happened on the platform itself, and what it did to tenants',
    permit: 'platform',
    run: (ctx, { limit, cursor, sort, ...filter }) => auditPage(ctx.reads, null, filter, windowOf({ limit, cursor, sort })),
  }),
};
