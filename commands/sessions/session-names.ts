import * as Agent from '../../domain/agents/agent.ts';
import { type Session, userOf } from '../../domain/sessions/session.ts';
import type { Ctx, Loaded } from '../context.ts';
import { loadOnce } from '../load-once.ts';
import { decidedBy, nameOf } from './approval.ts';

type Loads = Pick<Ctx, 'load'>;

type Named = Pick<Session, 'agent_id' | 'user_id' | 'created_by_id'>;

export type SessionNames = { readonly agent_name: string | null; readonly user_email: string | null; readonly user_name: string | null };

/** Present names of the agent (also a deleted one) and of the user for whom the session runs or, without one, who started it. */
export const namesOf = async (ctx: Loads, session: Named): Promise<SessionNames> => {
  const user_id = userOf(session);
  const [agent, user] = await Promise.all([ctx.load(Agent, session.agent_id), nameOf(ctx, user_id)]);
  return { agent_name: agent.revision >= 0 ? agent.state.name : null, user_email: user.email, user_name: user.name };
};

export const withNames = async <T extends Named>(ctx: Loads, sessions: readonly T[]): Promise<(T & SessionNames)[]> => {
  const load = loadOnce(ctx);
  return Promise.all(sessions.map(async (session) => ({ ...session, ...(await namesOf({ load }, session)) })));
};

/** Adds the authors' names and e-mail addresses. */
export const withAuthors = <T extends { readonly created_by_id: string | null }>(ctx: Loads, messages: readonly T[]) => {
  const load = loadOnce(ctx);
  return Promise.all(
    messages.map(async (message) => {
      const { name, email } = await nameOf({ load }, message.created_by_id);
      return { ...message, created_by_name: name, created_by_email: email };
    }),
  );
};

export const withDeciders = <T extends { readonly decided_by_id: string | null }>(ctx: Loads, approvals: readonly T[]) => {
  const load = loadOnce(ctx);
  return Promise.all(approvals.map(async (approval) => ({ ...approval, ...(await decidedBy({ load }, approval.decided_by_id)) })));
};

/** As in the response schema TaskSessionRead: with names, without the encrypted texts. */
export const sessionView = async (ctx: Loads, loaded: Loaded<Session>) => ({
  ...loaded,
  state: { ...loaded.state, started_at: loaded.state.created_at, ...(await namesOf(ctx, loaded.state)) },
});
