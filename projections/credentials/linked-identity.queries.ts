import { defineList, defineQuery } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { LinkedIdentityRead, table } from './linked-identity.ts';

export const IDENTITY_SORTS = sortFields(table, LinkedIdentityRead);

/** The identities of a tenant. With `agent_ids`, only the identities of these agents and those of the tenant itself. */
type SelectedIdentities = { readonly tenant_id: string; readonly agent_ids: readonly string[] | undefined };

const identityList = defineList({ table }, (db, { tenant_id, agent_ids }: SelectedIdentities) =>
  db
    .selectFrom('linked_identities.identities as identity')
    .where('identity.tenant_id', '=', tenant_id)
    .$if(agent_ids !== undefined, (query) =>
      query.where(({ eb, fn, or, val }) =>
        or([eb('identity.agent_id', 'is', null), eb('identity.agent_id', '=', fn.any(val(agent_ids!)))]),
      ),
    ),
);

export const identityPage = (reads: Reads, selected: SelectedIdentities, window: PageWindow): Promise<Page> =>
  reads.page(identityList, selected, window);

const linkedProviders = defineQuery((db, { tenant_id, agent_id }: { tenant_id: string; agent_id: string }) =>
  db
    .selectFrom('linked_identities.identities as identity')
    .where('identity.tenant_id', '=', tenant_id)
    .where('identity.agent_id', '=', agent_id)
    .where('identity.unlinked', 'is not', true)
    .select('identity.provider')
    .orderBy('identity.provider'),
);

export const linkedProvidersOf = async (reads: Reads, tenant_id: string, agent_id: string): Promise<ReadonlySet<string | null>> =>
  new Set((await reads.rows(linkedProviders, { tenant_id, agent_id })).map(({ provider }) => provider));

/** The maximum number of identities that `identitiesDueAt` returns. */
export const MAX_DUE_IDENTITIES = 100;

const dueIdentities = defineQuery((db, { at }: { at: string }) =>
  db
    .selectFrom('linked_identities.identities as identity')
    .select(['identity.tenant_id', 'identity.id'])
    .where('identity.due_at', '<=', at)
    .orderBy('identity.due_at')
    .limit(({ lit }) => lit(MAX_DUE_IDENTITIES)),
);

/**
 * Returns the identities whose tokens must be renewed or revoked at the time `at`, beginning with those that have been
 * due for longest.
 */
export const identitiesDueAt = (reads: Pick<Reads, 'rows'>, at: string): Promise<{ tenant_id: string; id: string }[]> =>
  reads.rows(dueIdentities, { at });
