import type { Recorded } from '../../domain/event.ts';
import { describedEvent } from '../../projections/audit/audit-log.queries.ts';
import { type Described, sentenceOf } from '../../projections/audit/audit-sentence.ts';
import type { HistoryEntry } from './history-schemas.ts';
import type { Ctx } from './operation.ts';

/**
 * Returns what the audit log says about an event to the tenant. A history comes from the log, so it is shown without names
 * if the audit log lacks the event yet, or cannot be read.
 */
const describedIn = ({ reads }: Ctx, { event_id }: Recorded): Promise<Described | null> =>
  describedEvent(reads, event_id).catch(() => null);

export type Said = Pick<HistoryEntry, 'sentence'> & { readonly names: { readonly name: string | null; readonly email: string | null } };

/** Returns the function that says who caused an event and, to those who may read the audit log, what happened. */
export const saidIn = async (ctx: Ctx): Promise<(event: Recorded) => Promise<Said>> => {
  const mayReadAudit = await ctx.may('tenant:audit:read');
  return async (event) => {
    const found = await describedIn(ctx, event);
    const { name = null, email = null } = found?.actor ?? {};
    return { names: { name, email }, sentence: found && mayReadAudit ? sentenceOf(found) : null };
  };
};
