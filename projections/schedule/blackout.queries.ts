import type { z } from 'zod';
import { defineList, defineQuery } from '../query.ts';
import { type Doc, type Page, type PageWindow, type Reads, type Source, tenantCount } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { blackoutCounter, blackouts, CronBlackoutRead, table } from './blackout.ts';

const from: Source<typeof table> = { projection: blackouts.name, table };

export const BLACKOUT_SORTS = sortFields(table, CronBlackoutRead);

/** Returns one blackout as CronBlackoutRead; null if it does not exist. */
export const blackoutById = (reads: Reads, tenant_id: string, id: string): Promise<Doc | null> => reads.one(from, { tenant_id, id });

/** Selects the blackouts of a tenant. With `agent_ids`, only those for all agents and those for these agents. */
type BlackoutListArgs = { readonly tenant_id: string; readonly agent_ids?: readonly string[] | undefined };

const blackoutList = defineList({ table }, (db, { tenant_id, agent_ids }: BlackoutListArgs) =>
  db
    .selectFrom('blackouts.blackouts as blackout')
    .where('blackout.tenant_id', '=', tenant_id)
    .$if(agent_ids !== undefined, (query) =>
      query.where(({ eb, or, fn, val }) =>
        or([eb('blackout.agent_id', 'is', null), eb('blackout.agent_id', '=', fn.any(val(agent_ids!)))]),
      ),
    ),
);

/** Returns a page of the blackouts of the tenant. With `agent_ids`, leaves out those for other agents. */
export const blackoutPage = (reads: Reads, args: BlackoutListArgs, window: PageWindow): Promise<Page> =>
  reads.page(blackoutList, args, window);

export const blackoutCount = (reads: Reads, tenant_id: string): Promise<number> =>
  tenantCount(reads, blackouts.name, blackoutCounter.table, tenant_id);

/**
 * The maximum number of blackouts of a tenant. There is a limit because every decision about an occurrence checks all
 * of them.
 */
export const MAX_BLACKOUTS = 500;

const blackoutAgents = defineQuery((db, { tenant_id }: { tenant_id: string }) =>
  db
    .selectFrom('blackouts.blackouts as blackout')
    .where('blackout.tenant_id', '=', tenant_id)
    .where('blackout.agent_id', 'is not', null)
    .select('blackout.agent_id')
    .distinct()
    .limit(({ lit }) => lit(MAX_BLACKOUTS)),
);

export const blackoutAgentsOf = async (reads: Pick<Reads, 'rows'>, tenant_id: string): Promise<string[]> =>
  (await reads.rows(blackoutAgents, { tenant_id })).map(({ agent_id }) => agent_id!);

const allBlackouts = defineQuery((db, { tenant_id }: { tenant_id: string }) =>
  db
    .selectFrom('blackouts.blackouts as blackout')
    .where('blackout.tenant_id', '=', tenant_id)
    .orderBy('blackout.created_at')
    .orderBy('blackout.id')
    .select('blackout.doc')
    .limit(({ lit }) => lit(MAX_BLACKOUTS)),
);

/** Returns all blackouts of the tenant, the oldest first. */
export const blackoutsOf = async (reads: Pick<Reads, 'rows'>, tenant_id: string): Promise<z.output<typeof CronBlackoutRead>[]> =>
  (await reads.rows(allBlackouts, { tenant_id })).map(({ doc }) => JSON.parse(doc) as z.output<typeof CronBlackoutRead>);
