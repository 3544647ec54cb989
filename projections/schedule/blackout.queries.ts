import type { z } from 'zod';
import { defineList, defineQuery } from '../query.ts';
import { type Doc, type Page, type PageWindow, type Reads, type Source, tenantCount } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { blackoutCounter, blackouts, CronBlackoutRead, table } from './blackout.ts';

const from: Source<typeof table> = { projection: blackouts.name, table };

export const BLACKOUT_SORTS = sortFields(table, CronBlackoutRead);

/** Returns one blackout as CronBlackoutRead; null if it does not exist. */
export const blackoutById = (reads: Reads, tenant_id: string, id: string): Promise<Doc | null> => reads.one(from, { tenant_id, id });

const blackoutList = defineList({ table }, (db, { tenant_id }: { tenant_id: string }) =>
  db.selectFrom('blackouts.blackouts as blackout').where('blackout.tenant_id', '=', tenant_id),
);

/** Returns a page of the blackouts of the tenant. */
export const blackoutPage = (reads: Reads, tenant_id: string, window: PageWindow): Promise<Page> =>
  reads.page(blackoutList, { tenant_id }, window);

/** Returns the number of blackouts of the tenant. */
export const blackoutCount = (reads: Reads, tenant_id: string): Promise<number> =>
  tenantCount(reads, blackouts.name, blackoutCounter.table, tenant_id);

/** The most blackouts that a tenant may have: a decision on an occurrence checks them all. */
export const MAX_BLACKOUTS = 500;

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
