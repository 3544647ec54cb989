import { type Kysely, sql } from 'kysely';
import type { Database } from '../database.ts';
import { selectDeliveries } from '../deliveries/delivery-selection.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

/** The deliveries whose checks are counted: those of a tenant or of one integration since a time. */
type HitArgs = { readonly tenant_id: string; readonly from: string; readonly integration_id?: string | undefined };

const selectVerified = (db: Kysely<Database>, args: HitArgs) => selectDeliveries(db, args).where('delivery.outcome', '<>', 'rejected');

/** The maximum number of deliveries whose checks are counted. If there are more, the newest are counted. */
export const MAX_COUNTED = 20_000;

/** Matches the documents of deliveries to which a rule or a check applied. Most have none, and need not be parsed. */
const HAS_HIT = '"verdict":"(block|redact|label|hold)"';

const checked = defineQuery((db, args: HitArgs) =>
  db
    .selectFrom(
      selectVerified(db, args)
        .select('delivery.id')
        .limit(({ lit }) => lit(MAX_COUNTED + 1))
        .as('some'),
    )
    .select(({ fn }) => fn.countAll<string>().as('count')),
);

const hits = defineQuery((db, args: HitArgs) =>
  db
    .selectFrom((outer) =>
      outer
        .selectFrom(
          selectVerified(db, args)
            .orderBy('delivery.received_at', 'desc')
            .orderBy('delivery.id', 'desc')
            .select(['delivery.received_at', 'delivery.doc'])
            .limit(({ lit }) => lit(MAX_COUNTED))
            .as('newest'),
        )
        .where(sql<boolean>`newest.doc ~ ${sql.lit(HAS_HIT)}`)
        .select(['newest.received_at', sql<object>`jsonb_array_elements(newest.doc::jsonb -> 'guardrails')`.as('verdict')])
        .as('checked'),
    )
    .where(sql<string>`checked.verdict ->> 'verdict'`, '<>', 'pass')
    .select([sql<string>`checked.verdict ->> 'rule'`.as('rule'), sql<string>`checked.verdict ->> 'verdict'`.as('verdict')])
    .select(({ fn }) => [fn.countAll<string>().as('count'), fn.max('checked.received_at').as('last_at')])
    .groupBy(['rule', sql`checked.verdict ->> 'verdict'`]),
);

/** How often a rule or check had a verdict, and when last. */
export type GuardrailHits = {
  readonly rule: string;
  readonly verdict: 'block' | 'redact' | 'label' | 'hold';
  readonly count: number;
  readonly last_at: string;
};

/** Counts the verdicts of rules and checks on the verified deliveries since a time. */
export const guardrailHits = async (reads: Reads, args: HitArgs): Promise<readonly GuardrailHits[]> =>
  (await reads.rows(hits, args)).map(({ rule, verdict, count, last_at }) => ({
    rule,
    verdict: verdict as GuardrailHits['verdict'],
    count: Number(count),
    last_at: last_at!,
  }));

/** Returns the number of verified deliveries since a time, up to one more than are counted. */
export const checkedCount = async (reads: Reads, args: HitArgs): Promise<number> =>
  Number((await reads.rows(checked, args))[0]?.count ?? 0);
