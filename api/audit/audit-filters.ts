import { z } from 'zod';
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
