import { comparePositions, type Position, parseToken } from '../../domain/event.ts';
import { Instant } from '../../domain/fields.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { positionAt } from '../../projections/audit/audit-log.queries.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import type { Ctx } from './operation.ts';

/** Times are found in the audit log: a token has to have come that far. */
export const AS_OF_PROJECTION = audit.name;

/** Before everything. */
const BEFORE_LOG: Position = { commit: 0n, prepare: 0n };

/** Where the log ends, of a position that lies beyond; else null. Up to where a view has come it is known without asking the log. */
const logEndBefore = async (ctx: Pick<Ctx, 'reads' | 'logEnd'>, position: Position): Promise<Position | null> => {
  const reached = parseToken(ctx.reads.position(AS_OF_PROJECTION) ?? '');
  if (reached && comparePositions(position, reached) <= 0) return null;
  const end = parseToken((await ctx.logEnd()) ?? '') ?? BEFORE_LOG;
  return comparePositions(position, end) > 0 ? end : null;
};

/** Of a token that no view is waited for: that the log has come that far. @throws Refusal not_caught_up */
export const assertWithinLog = async (ctx: Ctx, token: string): Promise<void> => {
  const position = parseToken(token);
  if (position && (await logEndBefore(ctx, position)))
    throw new Refusal('not_caught_up', 'the log has not come that far yet', { retryAfter: 1 });
};

/** What `as_of` names: a token as it is, the log's end where it lies beyond, a time as the tenant's last event until then. @throws Refusal invalid */
export const resolvePosition = async (ctx: Ctx, text: string, name = 'as_of'): Promise<Position> => {
  const given = parseToken(text);
  if (given) return (await logEndBefore(ctx, given)) ?? given;
  const time = Instant.safeParse(text);
  if (!time.success) throw invalid(`/query/${name}`, 'must be an RFC 3339 date-time or a Consistency-Token', 'bad_as_of');
  const found = await positionAt(ctx.reads, ctx.tenant, time.data);
  return (found && parseToken(found)) || BEFORE_LOG;
};
