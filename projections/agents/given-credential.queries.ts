import { sql } from 'kysely';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

/** The maximum number of agents that are returned for one identity. */
export const MAX_GIVEN = 20;

/**
 * Identities of a tenant: `revisions` has for each of `ids` the revision since which it gives access to the same. With
 * `agent_ids`, only these agents count.
 */
type Identities = {
  readonly tenant_id: string;
  readonly ids: readonly string[];
  readonly revisions: readonly string[];
  readonly agent_ids?: readonly string[] | undefined;
};

const given = defineQuery((db, { tenant_id, ids, revisions, agent_ids }: Identities) =>
  db
    .selectFrom(
      db
        .selectFrom('agents.given_credentials as given')
        .innerJoin('agents.agents as agent', (join) =>
          join.onRef('agent.tenant_id', '=', 'given.tenant_id').onRef('agent.id', '=', 'given.agent_id'),
        )
        .where('given.tenant_id', '=', tenant_id)
        .where(({ eb, fn, val }) => eb('given.identity_id', '=', fn.any(val(ids))))
        .where(
          sql<boolean>`(given.identity_id, given.identity_revision) in (select id, revision from unnest(${ids}::text[], ${revisions}::text[]) as identity (id, revision))`,
        )
        .where('agent.deleted', 'is not', true)
        .whereRef('given.given', '>', 'agent.credentials_taken')
        .$if(agent_ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('given.agent_id', '=', fn.any(val(agent_ids!)))))
        .select(['given.identity_id', 'given.agent_id', 'given.given_at', 'agent.name'])
        .select([
          sql<string>`row_number() over (partition by given.identity_id order by given.given)`.as('place'),
          sql<string>`count(*) over (partition by given.identity_id)`.as('count'),
        ])
        .as('found'),
    )
    .where(({ eb, ref, lit }) => eb(ref('found.place').$castTo<number>(), '<=', lit(MAX_GIVEN)))
    .selectAll()
    .orderBy('found.identity_id')
    .orderBy('found.place'),
);

/** An agent that has a linked identity of the tenant. `count` is how many agents have it. */
export type GivenTo = {
  readonly identity_id: string;
  readonly agent_id: string;
  readonly name: string;
  readonly given_at: string;
  readonly count: number;
};

/** Returns the agents that have these identities: of each, the first MAX_GIVEN, in the order in which they got it. */
export const agentsGiven = async (reads: Reads, identities: Identities): Promise<readonly GivenTo[]> => {
  if (identities.ids.length === 0) return [];
  const rows = await reads.rows(given, identities);
  return rows.map(({ identity_id, agent_id, name, given_at, count }) => ({
    ...{ identity_id: identity_id!, agent_id: agent_id!, name: name!, given_at: given_at! },
    count: Number(count),
  }));
};
