import { z } from 'zod';
import { readTranscript } from '../../commands/sessions/transcript.ts';
import { integer } from '../../domain/fields.ts';
import { readCursorKey, writeCursor } from '../../projections/cursor.ts';
import { settledAmong } from '../../projections/sessions/settled-message.queries.ts';
import type { Ctx } from '../http/operation.ts';
import { AsOf, Decimal, listQuery } from '../http/paging.ts';
import { ignoreUnavailable } from '../http/stale-if-error.ts';

const MAX_MESSAGES = 100_000;
/** How many messages a page with the newest ones has by default. */
const NEWEST = 50;

/**
 * A schema for the query of a session, which selects a page of its messages. Without `limit`, the page has as many
 * messages as fit into 8 MiB.
 */
export const transcriptQuery = listQuery({
  limit: Decimal(integer(1, MAX_MESSAGES))
    .optional()
    .meta({ description: 'How many messages the page may have. Default: all that fit into 8 MiB' }),
  order: z.enum(['oldest', 'newest']).default('oldest').meta({
    description:
      '`newest`: the last messages, still in the order in which they were written; the next page has those before. Default of `limit`: 50',
  }),
  as_of: AsOf,
}).omit({ sort: true });

type Window = { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly order: 'oldest' | 'newest' };

type Transcript = Awaited<ReturnType<typeof readTranscript>>['state'];

/** Adds the runner's status to messages. If the read model is unavailable, the status stays unknown. */
const withRunnerStatus = async ({ reads, tenant }: Ctx, { session, messages, ...rest }: Transcript) => {
  const event_ids = messages.flatMap(({ event_id }) => event_id ?? []);
  const asked = { tenant_id: tenant, agent_id: session.agent_id, event_ids };
  const settled = await settledAmong(reads, asked).catch(ignoreUnavailable);
  const outcomes = new Map(settled?.map(({ event_id, outcome }) => [event_id, outcome === 'acknowledged' ? 'seen' : 'given_up']));
  const statusOf = (id: string | null) => (id === null || !settled ? null : (outcomes.get(id) ?? 'waiting'));
  return { session, messages: messages.map((message) => ({ ...message, runner_status: statusOf(message.event_id) })), ...rest };
};

/** Returns a session with a page of its messages. @throws Refusal not_found, invalid, unavailable */
export const readSession = async (ctx: Ctx, session_id: string, { limit, cursor, order }: Window) => {
  const newest = order === 'newest';
  const sort = { column: 'revision', descending: newest };
  const after = readCursorKey(cursor, 'bigint', sort);
  const from = after ? Math.max(0, Number(after[0])) : undefined;
  const { next, ...loaded } = await readTranscript(ctx, session_id, {
    ...{ from, newest },
    limit: limit ?? (newest ? NEWEST : MAX_MESSAGES),
  });
  return {
    ...loaded,
    state: await withRunnerStatus(ctx, loaded.state),
    next: next === null ? null : writeCursor([next, session_id], sort),
  };
};
