import { repeatSent, type SentRef } from '../../domain/sessions/sent-event.ts';
import * as Session from '../../domain/sessions/session.ts';
import type { ReactorCtx } from '../context.ts';
import { recipientObstacle, type SentAgain } from '../deliveries/redeliver.ts';

/** A message of a session that the broker lost before it was settled. */
export type LostSessionMessage = SentRef & { readonly tenant: string; readonly agent_id: string; readonly session_id: string };

/**
 * Sends a message of a session again, only once, however often this is called. It keeps its CloudEvents id, so that a runner that has
 * processed it does not process it twice. With `dryRun`, only checks.
 * @throws Refusal unavailable
 */
export const repeatLostMessage = async (ctx: ReactorCtx, lost: LostSessionMessage, dryRun: boolean): Promise<SentAgain> => {
  const { tenant, session_id } = lost;
  const obstacle = await recipientObstacle(ctx, lost);
  if (obstacle) return { skipped: obstacle };
  const { state } = await ctx.load(Session, session_id, { tenant });
  const [repeated] = repeatSent(lost)(state);
  if (!repeated) return { skipped: state.status === 'absent' ? 'the log does not have it' : 'it was sent again already' };
  if (dryRun) return { message_id: null };
  const sent = await ctx.transact(Session, session_id, repeatSent(lost), { tenant });
  return { message_id: sent.state.repeats.find(({ event_id }) => event_id === lost.event_id)?.message_id ?? null };
};
