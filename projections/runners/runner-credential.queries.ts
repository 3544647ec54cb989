import { sql } from 'kysely';
import { defineList, defineQuery } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { RunnerCredentialRead, table } from './runner-credential.ts';

export const RUNNER_CREDENTIAL_SORTS = sortFields(table, RunnerCredentialRead);

type AgentRef = { readonly tenant_id: string; readonly agent_id: string };

const credentialList = defineList({ table }, (db, { tenant_id, agent_id }: AgentRef) =>
  db
    .selectFrom('runner_credentials.runner_credentials as credential')
    .where('credential.tenant_id', '=', tenant_id)
    .where('credential.agent_id', '=', agent_id),
);

/** Returns a page of the NATS credentials of one agent, including expired and revoked ones. */
export const runnerCredentialPage = (reads: Reads, agent: AgentRef, window: PageWindow): Promise<Page> =>
  reads.page(credentialList, agent, window);

type KeyArgs = AgentRef & { readonly before?: string | undefined; readonly expires_after?: string | undefined };

const MAX_UNEXPIRED = 200;
const PAGE_SIZE = 20;

const issuedKeys = defineQuery((db, { tenant_id, agent_id, before, expires_after }: KeyArgs) =>
  db
    .selectFrom('runner_credentials.runner_credentials as credential')
    .select(['credential.public_key', 'credential.created_at'])
    .where('credential.tenant_id', '=', tenant_id)
    .where('credential.agent_id', '=', agent_id)
    .$if(before !== undefined, (query) => query.where('credential.created_at', '<', before!))
    .$if(expires_after !== undefined, (query) => query.where('credential.expires_at', '>', expires_after!))
    .orderBy('credential.created_at', 'desc')
    .orderBy('credential.id', 'desc')
    .limit(({ lit }) => lit(before === undefined ? MAX_UNEXPIRED : PAGE_SIZE)),
);

/** The public key of a broker user, and when its credential was issued. */
export type IssuedKey = { readonly public_key: string; readonly created_at: string };

/** Returns the public keys of an agent's credentials that are valid at the time `at`, the newest first, at most 200. */
export const unexpiredKeys = (reads: Pick<Reads, 'rows'>, agent: AgentRef, at: string): Promise<readonly IssuedKey[]> =>
  reads.rows(issuedKeys, { ...agent, expires_after: at }) as Promise<IssuedKey[]>;

/**
 * Returns the public keys of the last credentials of an agent that were issued before the time `before`, the newest
 * first.
 */
export const keysBefore = (reads: Reads, agent: AgentRef, before: string): Promise<readonly IssuedKey[]> =>
  reads.rows(issuedKeys, { ...agent, before }) as Promise<IssuedKey[]>;

type KeysOfAgents = { readonly tenant_id: string; readonly agent_ids: readonly string[]; readonly at: string };

const keysOfAgents = defineQuery((db, { tenant_id, agent_ids, at }: KeysOfAgents) =>
  db
    .selectFrom(sql<{ id: string }>`unnest(${agent_ids}::text[])`.as<'agent'>(sql`agent (id)`))
    .innerJoinLateral(
      (eb) =>
        eb
          .selectFrom('runner_credentials.runner_credentials as credential')
          .select(['credential.agent_id', 'credential.public_key'])
          .where('credential.tenant_id', '=', tenant_id)
          .whereRef('credential.agent_id', '=', 'agent.id')
          .where('credential.expires_at', '>', at)
          .orderBy('credential.created_at', 'desc')
          .orderBy('credential.id', 'desc')
          .limit(({ lit }) => lit(MAX_UNEXPIRED))
          .as('newest'),
      (join) => join.onTrue(),
    )
    .select(['newest.agent_id', 'newest.public_key']),
);

/**
 * Returns the public keys of the credentials of these agents that have not expired at the time `at`: the newest 200 of each
 * agent, by agent. The broker has closed the connections of those that were revoked.
 */
export const unexpiredKeysOf = async (reads: Pick<Reads, 'rows'>, args: KeysOfAgents): Promise<ReadonlyMap<string, readonly string[]>> => {
  const rows = args.agent_ids.length === 0 ? [] : await reads.rows(keysOfAgents, args);
  const groups = Map.groupBy(rows, ({ agent_id }) => agent_id!);
  return new Map([...groups].map(([agent_id, keys]) => [agent_id, keys.map(({ public_key }) => public_key!)]));
};
