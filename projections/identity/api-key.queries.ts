import type { ApiKeyKind } from '../../domain/identity/api-key.ts';
import { defineList, defineQuery } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { ApiKeyRead, table } from './api-key.ts';

export const KEY_SORTS = sortFields(table, ApiKeyRead);

/** The owner of API keys: a tenant, the platform (no `tenant_id`), or the runners of one agent (with `agent_id`). */
type KeyOwner = {
  readonly kind: ApiKeyKind;
  readonly tenant_id?: string;
  readonly agent_id?: string;
  /** Only the keys that act for this user. */
  readonly owner_id?: string | undefined;
};

const keyList = defineList({ table }, (db, { kind, tenant_id, agent_id, owner_id }: KeyOwner) =>
  db
    .selectFrom('apikeys.apikeys as key')
    .where('key.kind', '=', kind)
    .$if(tenant_id !== undefined, (query) => query.where('key.tenant_id', '=', tenant_id!))
    .$if(agent_id !== undefined, (query) => query.where('key.agent_id', '=', agent_id!))
    .$if(owner_id !== undefined, (query) => query.where('key.owner_id', '=', owner_id!)),
);

export const keyPage = (reads: Reads, owner: KeyOwner, window: PageWindow): Promise<Page> => reads.page(keyList, owner, window);

type Owners = { readonly tenant_id: string; readonly user_ids: readonly string[] };

const lastUses = defineQuery((db, { tenant_id, user_ids }: Owners) =>
  db
    .selectFrom('apikeys.apikeys as key')
    .where('key.tenant_id', '=', tenant_id)
    .where(({ eb, fn, val }) => eb('key.owner_id', '=', fn.any(val(user_ids))))
    .where('key.kind', '=', 'tenant')
    .where('key.last_used_at', 'is not', null)
    .groupBy('key.owner_id')
    .select(({ fn }) => ['key.owner_id', fn.max('key.last_used_at').as('last_used_at')]),
);

/** Maps each of these users to the time when one of their keys of the tenant that are not revoked was last used; users without any are absent. */
export const lastKeyUses = async (reads: Reads, owners: Owners): Promise<ReadonlyMap<string, string>> =>
  new Map((await reads.rows(lastUses, owners)).map(({ owner_id, last_used_at }) => [owner_id!, new Date(last_used_at!).toISOString()]));
