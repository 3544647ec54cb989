import { z } from 'zod';
import { withNames } from '../../commands/sessions/session-names.ts';
import { integer } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import * as Session from '../../domain/sessions/session.ts';
import { tenantCount } from '../../projections/read-model.ts';
import { countSessions, type SessionFilter, sessionsOnPage } from '../../projections/sessions/session.queries.ts';
import { AuditSessionDetailResponse, AuditSessionListItem, sessionCounter, sessions } from '../../projections/sessions/session.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { Decimal, hasFilters, TimeRange } from '../http/paging.ts';
import { readSession, transcriptQuery } from './session-transcript.ts';

const SESSIONS = '/v1/tenants/:tenant_id/sessions';
/** The highest page number. It is limited because PostgreSQL reads and discards all rows of the pages before. */
const MAX_PAGE = 1_000_000;

export const AuditSessionListResponse = z
  .object({
    items: z.array(AuditSessionListItem).meta({ description: 'The sessions of the page, newest first' }),
    total: z.int().meta({ description: 'The number of sessions on all pages', examples: [1] }),
    page: z.int().meta({ description: 'The number of the page; 1 is the first', examples: [1] }),
    per_page: z.int().meta({ description: 'The most sessions that a page may have', examples: [20] }),
  })
  .meta({ id: 'AuditSessionListResponse' });

const SessionsQuery = z.strictObject({
  page: Decimal(integer(1, MAX_PAGE).default(1)).meta({ description: 'The number of the page; 1 is the first' }),
  per_page: Decimal(integer(1, 100).default(20)).meta({ description: 'How many sessions the page may have' }),
  agent_id: Id25.optional().meta({ description: 'Only sessions of this agent' }),
  status: z.enum(Session.SESSION_STATUSES).optional().meta({ description: 'Only sessions with this status' }),
  user_id: Id25.optional().meta({ description: 'Only sessions for this user' }),
  ...TimeRange,
});

const totalOf = (ctx: Ctx, filter: SessionFilter): Promise<number> =>
  hasFilters(filter)
    ? countSessions(ctx.reads, ctx.tenant, filter)
    : tenantCount(ctx.reads, sessions.name, sessionCounter.table, ctx.tenant);

/** The operations with which auditors read the sessions of a tenant. */
export const auditSessionOperations = {
  listTenantSessions: operation({
    method: 'get',
    path: SESSIONS,
    summary: "List the tenant's sessions",
    permit: 'tenant:audit:read',
    query: SessionsQuery,
    reply: AuditSessionListResponse,
    projection: sessions.name,
    noETag: true,
    run: async (ctx, { tenant_id, page, per_page, ...filter }) => {
      const [found, total] = await Promise.all([sessionsOnPage(ctx.reads, tenant_id, filter, { page, per_page }), totalOf(ctx, filter)]);
      const items = await withNames(ctx, found);
      return { doc: JSON.stringify(AuditSessionListResponse.parse({ items, total, page, per_page })), revision: null };
    },
  }),
  getTenantSession: operation({
    method: 'get',
    path: `${SESSIONS}/:session_id`,
    summary: 'Read a session of the tenant',
    details: 'With its messages. If they are too large for one page, `Link` leads to the next.',
    permit: 'tenant:audit:read',
    query: transcriptQuery,
    reply: AuditSessionDetailResponse,
    noConditionalGet: true,
    run: (ctx, { session_id, ...window }) => readSession(ctx, session_id, window),
  }),
};
