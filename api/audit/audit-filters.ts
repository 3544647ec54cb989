import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import * as User from '../../domain/identity/user.ts';
import { actionsOf } from '../../projections/audit/audit-category.ts';
import { AUDIT_BY, type AuditFilter } from '../../projections/audit/audit-log.queries.ts';
import { AUDIT_CATEGORIES, type AuditCategory } from '../../projections/audit-record.ts';
import { deliveryById } from '../../projections/deliveries/delivery.queries.ts';
import type { Ctx } from '../http/operation.ts';
import { TimeRange } from '../http/paging.ts';

const filterText = (description: string) => z.string().min(1).max(255).optional().meta({ description });

/** The query parameters that select entries of an audit log, in lists and exports. */
export const AuditFilters = {
  action: filterText('Only entries with this action, such as `agent.updated`, or with this start of it, such as `agent.*`'),
  actor: filterText('Only what this user, agent or part of the platform did'),
  user_id: filterText('Only what this user did'),
  key_id: filterText('Only what was done with this API key'),
  resource_type: filterText('Only entries about this kind of resource'),
  resource_id: filterText('Only entries about this resource'),
  agent_id: filterText('Only entries about this agent'),
  ...TimeRange,
};

/** The filters of the audit log of a tenant. */
export const TenantAuditFilters = {
  about: filterText('Only entries that concern this person, agent or other resource, no matter who did it and where it is recorded'),
  by: z
    .enum(AUDIT_BY)
    .optional()
    .meta({ description: 'Only what people, the runners of agents, or the platform with its integrations did' }),
  category: z.enum(AUDIT_CATEGORIES).optional().meta({ description: 'Only actions of this category' }),
  ...AuditFilters,
};

type TenantFilter = Omit<AuditFilter, 'about_user' | 'about_agent' | 'about_resource' | 'about_events' | 'one_of'> & {
  readonly about?: string | undefined;
  readonly category?: AuditCategory | undefined;
};

/** The maximum number of events about a delivery that a list contains besides those of its own stream. */
const MAX_EVENTS = 1_000;

/**
 * The events about a delivery that are in other streams, such as acknowledgements, which are about many deliveries.
 * They are known from the delivery.
 */
const eventsOfDelivery = async ({ reads, tenant }: Subjects, id: string): Promise<readonly string[]> => {
  const found = await deliveryById(reads, tenant, id);
  const { causation = [] } = found?.delivery ?? {};
  return causation.slice(-MAX_EVENTS).map(({ event_id }) => event_id);
};

type Subjects = Pick<Ctx, 'load' | 'reads' | 'tenant'>;

/** Replaces the filters `about` and `category` by those of the queries. */
export const withSubject = async (ctx: Subjects, { about, category, ...rest }: TenantFilter): Promise<AuditFilter> => {
  const filter: AuditFilter = { ...rest, ...(category && { one_of: actionsOf(category) }) };
  if (about === undefined) return filter;
  const [user, agent] = await Promise.all([ctx.load(User, about), ctx.load(Agent, about)]);
  if (user.revision >= 0) return { ...filter, about_user: about };
  if (agent.revision >= 0) return { ...filter, about_agent: about };
  const about_events = await eventsOfDelivery(ctx, about);
  return { ...filter, about_resource: about, ...(about_events.length > 0 && { about_events }) };
};
