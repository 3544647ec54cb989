import * as SentEvent from '../../domain/sessions/sent-event.ts';
import * as Session from '../../domain/sessions/session.ts';
import type { Ctx } from '../context.ts';
import { sessionView } from './session-names.ts';

/** Stops what the runner does, and keeps the session. @throws Refusal not_found, conflict if the session has ended */
export const interruptSession = async (ctx: Ctx, { session_id }: { readonly session_id: string }) =>
  sessionView(ctx, await ctx.transact(Session, session_id, SentEvent.interrupt(ctx.at())));
