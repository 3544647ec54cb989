import * as Agent from '../../domain/agents/agent.ts';
import * as User from '../../domain/identity/user.ts';
import { type Session, userOf } from '../../domain/sessions/session.ts';
import type { Ctx, Loaded } from '../context.ts';
import { loadOnce } from '../load-once.ts';
import { decidedBy } from './approval.ts';

type Loads = Pick<Ctx, 'load'>;

type Named = Pick<Session, 'agent_id' | 'user_id' | 'created_by_id'>;

export type SessionNames = { readonly agent_name: string | null; readonly user_email: string | null; readonly user_name: string | null };

/**
 * Returns the present names of a session's agent and user. The user is the one for whom the session runs or, if there
 * is none, the one who started it. A deleted agent keeps its name.
 */
export const namesOf = async (ctx: Loads, session: Named): Promise<SessionNames> => {
  const user_id = userOf(session);
  const [agent, user] = await Promise.all([ctx.load(Agent, session.agent_id), user_id === null ? null : ctx.load(User, user_id)]);
  const isKnown = user !== null && user.revision >= 0;
  return {
    agent_name: agent.revision >= 0 ? agent.state.name : null,
    user_email: isKnown ? user.state.email : null,
    user_name: isKnown ? user.state.name : null,
  };
};

export const withNames = async <T extends Named>(ctx: Loads, sessions: readonly T[]): Promise<(T & SessionNames)[]> => {
  const load = loadOnce(ctx);
  return Promise.all(sessions.map(async (session) => ({ ...session, ...(await namesOf({ load }, session)) })));
};

/** Adds to each approval the name of the person who decided. */
export const withDeciders = <T extends { readonly decided_by_id: string | null }>(ctx: Loads, approvals: readonly T[]) => {
  const load = loadOnce(ctx);
  return Promise.all(approvals.map(async (approval) => ({ ...approval, ...(await decidedBy({ load }, approval.decided_by_id)) })));
};

/**
 * Returns a session in the form of the response schema TaskSessionRead: with names, and without the encrypted texts.
 */
export const sessionView = async (ctx: Loads, loaded: Loaded<Session>) => ({
  ...loaded,
  state: { ...loaded.state, started_at: loaded.state.created_at, ...(await namesOf(ctx, loaded.state)) },
});
