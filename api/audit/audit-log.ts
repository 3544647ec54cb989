import { z } from 'zod';
import { categoryOf } from '../../projections/audit/audit-category.ts';
import { auditFacets, MAX_COUNTED } from '../../projections/audit/audit-facet.queries.ts';
import { type AuditFilter, auditCount, auditPage, hiddenCount } from '../../projections/audit/audit-log.queries.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import { actionWords } from '../../projections/audit/audit-sentence.ts';
import { AUDIT_CATEGORIES } from '../../projections/audit-record.ts';
import { type ListOrder, readCursorKey } from '../../projections/cursor.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { Flag, listQuery, windowOf, withTotalCount } from '../http/paging.ts';
import { AuditListEntry, listEntries } from './audit-entries.ts';
import { AuditFilters, TenantAuditFilters, withSubject } from './audit-filters.ts';

type ListedPage = {
  readonly next: string | null;
  readonly entries: readonly { readonly created_at: string }[];
  readonly cursor: string | undefined;
  readonly order: ListOrder;
};

const listing = { method: 'get', reply: z.array(AuditListEntry), projection: audit.name } as const;

const ActionFacet = z.object({
  action: z.string().meta({ description: 'The action', examples: ['agent.role_assigned'] }),
  words: z.string().meta({ description: 'The action in words', examples: ['gave a person a role on an agent'] }),
  category: z
    .enum(AUDIT_CATEGORIES)
    .nullable()
    .meta({ description: 'What the action is about', examples: ['access'] }),
  count: z.int().meta({ description: 'How many of the counted entries have it', examples: [3] }),
});

const ActorFacet = z.object({
  kind: z.enum(['user', 'agent', 'system']).meta({ description: 'A user, the runner of an agent, or a part of the platform' }),
  id: z.string().meta({ description: 'The value for the filter `actor`', examples: ['c1u33xtplpft75v2seh60kvj5'] }),
  name: z
    .string()
    .nullable()
    .meta({ description: 'The name in the newest entry; null if it has none or the reader may not see it', examples: ['Ada'] }),
  count: z.int().meta({ description: 'How many of the counted entries are theirs', examples: [12] }),
});

const AuditFacets = z
  .object({
    actions: z.array(ActionFacet).meta({ description: 'What happened, the most frequent first' }),
    actors: z.array(ActorFacet).meta({ description: 'Who did it, at most 100, the most active first' }),
    counted: z.int().meta({ description: `How many entries were counted: the newest, at most ${MAX_COUNTED}`, examples: [1800] }),
  })
  .meta({ id: 'AuditFacets' });

const ListFilters = {
  ...TenantAuditFilters,
  collapse: Flag.optional().meta({ description: 'Whether one entry stands for a row of entries with the same sentence; default: false' }),
};

/** The time of a page: from the end of the previous page to its own end. The pages of a list cover all time, each part once. */
const timeOf = ({ next, entries, cursor, order }: ListedPage): Pick<AuditFilter, 'from' | 'to'> => {
  const start = readCursorKey(cursor, 'timestamptz', order)?.[0] as string | undefined;
  const end = next === null ? undefined : entries.at(-1)?.created_at;
  const [from, to] = order.descending ? [end, start] : [start, end];
  return { ...(from && { from }), ...(to && { to }) };
};

/** Counts what `by` hides in the time of a page. */
const hiddenOn = (ctx: Ctx, filter: AuditFilter, page: ListedPage): Promise<number> | undefined => {
  const { by } = filter;
  return by === undefined ? undefined : hiddenCount(ctx.reads, ctx.tenant, { ...filter, by, ...timeOf(page) });
};

export const auditOperations = {
  listAuditLogs: operation({
    ...listing,
    path: '/tenant/:tenant_id/audit-logs',
    summary: "List the tenant's audit log",
    details: 'It says what happened, and who did it.',
    permit: 'tenant:audit:read',
    query: listQuery(ListFilters),
    otherProjections: ({ about }) => (about === undefined ? [] : [deliveries.name]),
    run: async (ctx, { tenant_id, limit, cursor, sort, collapse = false, ...asked }) => {
      const filter = await withSubject(ctx, asked);
      const window = windowOf({ limit, cursor, sort });
      const page = auditPage(ctx.reads, tenant_id, filter, window);
      const { next, total, ...found } = await withTotalCount(asked, page, () => auditCount(ctx.reads, tenant_id));
      const { body, entries } = listEntries(found.body, collapse && window.sort);
      return { body, next, total, hidden: await hiddenOn(ctx, filter, { next, entries, cursor, order: window.sort }) };
    },
  }),
  readAuditFacets: operation({
    method: 'get',
    path: '/tenant/:tenant_id/audit-logs/facets',
    summary: 'Count the audit log by action and actor',
    details: `The choices for the filters of the audit log: the actions and actors of its newest ${MAX_COUNTED} entries.`,
    permit: 'tenant:audit:read',
    reply: AuditFacets,
    projection: audit.name,
    noETag: true,
    run: async (ctx, { tenant_id }) => {
      const { actions, ...facets } = await auditFacets(ctx.reads, tenant_id);
      const described = actions.map(({ action, count }) => ({ action, words: actionWords(action), category: categoryOf(action), count }));
      return { doc: JSON.stringify(AuditFacets.parse({ ...facets, actions: described })), revision: null };
    },
  }),
  listPlatformAuditLogs: operation({
    ...listing,
    path: '/admin/audit-logs',
    summary: "List the platform's audit log",
    details: 'It contains the events of the platform, and what the platform did to tenants.',
    permit: 'platform',
    query: listQuery(AuditFilters),
    run: async (ctx, { limit, cursor, sort, ...filter }) => {
      const { body, next } = await auditPage(ctx.reads, null, filter, windowOf({ limit, cursor, sort }));
      return { body: listEntries(body, false).body, next };
    },
  }),
};
