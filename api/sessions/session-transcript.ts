import { readTranscript } from '../../commands/sessions/transcript.ts';
import { integer } from '../../domain/fields.ts';
import { readCursorKey, writeCursor } from '../../projections/cursor.ts';
import type { Ctx } from '../http/operation.ts';
import { AsOf, Decimal, listQuery } from '../http/paging.ts';

const MAX_MESSAGES = 100_000;

/**
 * A schema for the query of a session, which selects a page of its messages. Without `limit`, the page has as many
 * messages as fit into 8 MiB.
 */
export const transcriptQuery = listQuery({
  limit: Decimal(integer(1, MAX_MESSAGES))
    .optional()
    .meta({ description: 'How many messages the page may have. Default: all that fit into 8 MiB' }),
  as_of: AsOf,
}).omit({ sort: true });

type Window = { readonly limit?: number | undefined; readonly cursor?: string | undefined };

/** Returns a session with a page of its messages. @throws Refusal not_found, invalid, unavailable */
export const readSession = async (ctx: Ctx, session_id: string, { limit = MAX_MESSAGES, cursor }: Window) => {
  const after = readCursorKey(cursor, 'bigint');
  const { next, ...loaded } = await readTranscript(ctx, session_id, { from: Math.max(0, Number(after?.[0] ?? 0)), limit });
  return { ...loaded, next: next === null ? null : writeCursor([next, session_id]) };
};
