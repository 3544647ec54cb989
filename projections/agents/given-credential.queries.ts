import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

type Identities = { readonly tenant_id: string; readonly ids: readonly string[] };

const given = defineQuery((db, { tenant_id, ids }: Identities) =>
  db
    .selectFrom('agents.given_credentials as given')
    .where('given.tenant_id', '=', tenant_id)
    .where(({ eb, fn, val }) => eb('given.identity_id', '=', fn.any(val(ids))))
    .select(['given.identity_id', 'given.agent_id'])
    .orderBy('given.identity_id')
    .orderBy('given.agent_id'),
);

/** An agent to which a linked identity of the tenant was given. It may have lost the identity since. */
export type GivenTo = { readonly identity_id: string; readonly agent_id: string };

export const agentsGiven = async (reads: Reads, identities: Identities): Promise<readonly GivenTo[]> =>
  identities.ids.length === 0 ? [] : ((await reads.rows(given, identities)) as GivenTo[]);
