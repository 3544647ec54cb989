import { comparePositions, type Position, parseToken } from '../../domain/event.ts';
import { Instant } from '../../domain/fields.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { shownValue } from '../../domain/shown-value.ts';
import { positionAt } from '../../projections/audit/audit-log.queries.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import type { Ctx } from './operation.ts';

/**
 * The projection that maps times to log positions. As-of reads wait for this projection, because `as_of` can be a time.
 */
export const AS_OF_PROJECTION = audit.name;

/** The position before the first event of the log. */
export const BEFORE_LOG: Position = { commit: 0n, prepare: 0n };

/**
 * Returns null if the log has reached `position`; otherwise the position of the last event. The event store is asked
 * only if the projection has not reached `position` yet.
 */
const logEndBefore = async (ctx: Pick<Ctx, 'reads' | 'log'>, position: Position): Promise<Position | null> => {
  const projected = parseToken(ctx.reads.position(AS_OF_PROJECTION) ?? '');
  if (projected && comparePositions(position, projected) <= 0) return null;
  const end = parseToken((await ctx.log.logEnd()) ?? '') ?? BEFORE_LOG;
  return comparePositions(position, end) > 0 ? end : null;
};

/**
 * Checks that the position in a Consistency-Token is not beyond the end of the log.
 * @throws Refusal not_caught_up if it is
 */
export const assertWithinLog = async (ctx: Ctx, token: string): Promise<void> => {
  const position = parseToken(token);
  if (position && (await logEndBefore(ctx, position)))
    throw new Refusal('not_caught_up', 'The event log has not reached this Consistency-Token yet', { retryAfter: 1 });
};

/**
 * Converts `text`, the value of the query parameter `name`, to a log position. If the text is a Consistency-Token, the
 * result is the token's position. If it is a time, the result is the position of the tenant's last event up to that
 * time.
 * @throws Refusal invalid if the text is neither of them, or if the position is beyond the end of the log
 */
export const resolvePosition = async (ctx: Ctx, text: string, name = 'as_of'): Promise<Position> => {
  const token = parseToken(text);
  if (token && (await logEndBefore(ctx, token)))
    throw invalid(`/query/${name}`, 'must not be a position beyond the end of the event log', 'beyond_log');
  if (token) return token;
  const time = Instant.safeParse(text);
  if (!time.success)
    throw invalid(
      `/query/${name}`,
      `must be an RFC 3339 date-time, such as 2026-03-14T10:26:53+01:00, or a Consistency-Token; it is ${shownValue(text)}`,
      'bad_as_of',
    );
  const found = await positionAt(ctx.reads, ctx.tenant, time.data);
  return (found && parseToken(found)) || BEFORE_LOG;
};
