import type { ApiKeyKind } from '../../domain/identity/api-key.ts';
import type { Condition, Page, PageQuery, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { ApiKeyRead, apikeys, table } from './api-key.ts';

export const KEY_SORTS = sortFields(table, ApiKeyRead);

/** The keys of one kind: a tenant's, the platform's, or those of one agent's runners. */
export const keyPage = (
  reads: Reads,
  owner: { kind: ApiKeyKind; tenant_id?: string; agent_id?: string },
  window: Pick<PageQuery, 'sort' | 'limit' | 'cursor'>,
): Promise<Page> =>
  reads.page({
    from: { projection: apikeys.name, table },
    where: Object.entries(owner).map(([column, value]): Condition => ({ column, op: '=', value })),
    ...window,
  });
