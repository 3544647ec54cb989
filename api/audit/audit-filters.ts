import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import * as User from '../../domain/identity/user.ts';
import { invalid } from '../../domain/refusal.ts';
import type { AuditFilter } from '../../projections/audit/audit-log.queries.ts';
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
  ...AuditFilters,
};

type TenantFilter = Omit<AuditFilter, 'about_user'> & { readonly about?: string | undefined };

/**
 * Replaces the filter `about` by the one for the kind of resource with this id.
 * @throws Refusal invalid if another filter names a resource of the same kind
 */
export const withSubject = async (ctx: Pick<Ctx, 'load'>, { about, ...filter }: TenantFilter): Promise<AuditFilter> => {
  if (about === undefined) return filter;
  const [user, agent] = await Promise.all([ctx.load(User, about), ctx.load(Agent, about)]);
  if (user.revision >= 0) return { ...filter, about_user: about };
  const name = agent.revision >= 0 ? 'agent_id' : 'resource_id';
  if (filter[name] !== undefined && filter[name] !== about)
    throw invalid('/query/about', `cannot be combined with another ${name}`, 'not_with_filters');
  return { ...filter, [name]: about };
};
