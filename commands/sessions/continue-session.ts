import { z } from 'zod';
import { displayText } from '../../domain/fields.ts';
import { conflict } from '../../domain/refusal.ts';
import * as Session from '../../domain/sessions/session.ts';
import type { Ctx, Input } from '../context.ts';
import { FirstMessage } from './person-message.ts';
import { loadSession } from './session-access.ts';
import { SessionStart, startSession } from './start-session.ts';

export const SessionContinue = z
  .strictObject({
    title: displayText(1, 255).nullable().default(null).meta({ description: 'The title of the new session; null: that of the old one' }),
    message: FirstMessage,
    expires_in_seconds: SessionStart.shape.expires_in_seconds,
  })
  .meta({ id: 'SessionContinue', examples: [{ message: { content: 'Please review it again.' } }] });

const NOT_ENDED = 'The session has not ended: write to it with POST …/messages';

/**
 * The new session names the ended one, so that the runner can read its messages. @throws Refusal not_found, conflict if it has not ended,
 * and those of `startSession`
 */
export const continueSession = async (ctx: Ctx, input: Input<typeof SessionContinue, 'tenant_id' | 'session_id'>) => {
  const { tenant_id, session_id, title, message, expires_in_seconds } = input;
  const { state: old } = await loadSession(ctx, session_id);
  if (!Session.endedAs(old, ctx.at())) throw conflict('/path/session_id', 'session_not_ended', NOT_ENDED);
  const { agent_id } = old;
  const start = { tenant_id, agent_id, title, message, expires_in_seconds };
  return startSession(ctx, { ...start, delivery_id: null, cron_occurrence_id: null, user_id: null }, { id: session_id, title: old.title });
};
