import { assertNotSuspended, type Principal } from '../../domain/principal.ts';
import { notFound, Refusal } from '../../domain/refusal.ts';
import * as Session from '../../domain/sessions/session.ts';
import type { Ctx, Loaded } from '../context.ts';
import { findApproval } from './approval.ts';

type Load = (ctx: Ctx, session_id: string) => Promise<Loaded<Session.Session>>;

const loader =
  (options: { readonly isFresh?: true }): Load =>
  async (ctx, session_id) => {
    const loaded = await ctx.load(Session, session_id, options);
    Session.assertExists(loaded.state);
    return loaded;
  };

/** Loads a session of the context's tenant, with what other processes have appended. @throws Refusal not_found */
export const loadSession = loader({ isFresh: true });

/** Loads what never changes about a session, such as its agent and who has started it. @throws Refusal not_found */
const loadOrigin = loader({});

/**
 * Who may write to a session, besides the runner of its agent: no one (`runner`), or users who may assign work to
 * the agent, in all its sessions (`assigners`) or in those that a person has started (`persons`).
 */
export type Writers = 'runner' | 'persons' | 'assigners';

const RUNNER_ONLY = "This needs the agent's runner key";
const NOT_OF_PERSON = 'The runner has started this session, so only the runner writes in it: start a session of your own';

/**
 * Checks that a runner belongs to the agent of the session. In a suspended tenant, a runner gets the same refusal for
 * all sessions of other agents, so that it learns nothing about them.
 * @throws Refusal not_found, tenant_suspended
 */
const requireOwnRunner = async (ctx: Ctx, principal: Principal & { kind: 'runner' }, session_id: string): Promise<void> => {
  const { state } = await ctx.load(Session, session_id);
  const isOwn = principal.tenant_id === ctx.tenant && state.status !== 'absent' && principal.agent_id === state.agent_id;
  if (isOwn) return;
  assertNotSuspended(principal);
  throw notFound();
};

/**
 * Checks that the caller may write to a session: the runner of its agent may, and those users whom `others` names. A
 * user also needs the permission to assign work to the agent.
 * @throws Refusal not_found if there is no such session or if the caller may not see its agent, forbidden,
 * tenant_suspended
 */
export const requireWriter = async (ctx: Ctx, session_id: string, others: Writers): Promise<void> => {
  const { principal } = ctx;
  if (principal.kind === 'runner') return requireOwnRunner(ctx, principal, session_id);
  const { state: session } = await loadOrigin(ctx, session_id);
  if (others === 'assigners' || (others === 'persons' && session.created_by_id !== null))
    return ctx.require('agent:assign', session.agent_id);
  await ctx.require('agent:read', session.agent_id);
  throw new Refusal('forbidden', others === 'runner' ? RUNNER_ONLY : NOT_OF_PERSON);
};

/**
 * Checks that the caller is a user who may assign work to the session's agent. Runners are refused with `runnerText`.
 * @throws Refusal not_found, forbidden, tenant_suspended
 */
const requirePerson = async (ctx: Ctx, session_id: string, runnerText: string): Promise<Loaded<Session.Session>> => {
  const { principal } = ctx;
  if (principal.kind === 'runner') {
    await requireOwnRunner(ctx, principal, session_id);
    throw new Refusal('forbidden', runnerText);
  }
  const session = await loadOrigin(ctx, session_id);
  await ctx.require('agent:assign', session.state.agent_id);
  return session;
};

/**
 * Checks that the caller may interrupt a session. Users who may assign work to its agent may do so.
 * @throws Refusal not_found, forbidden, tenant_suspended
 */
export const requireInterrupter = async (ctx: Ctx, session_id: string): Promise<void> =>
  void (await requirePerson(ctx, session_id, 'Only a person may interrupt the runner: a runner stops on its own'));

const ignoreForbidden = (error: unknown): void => {
  if (!(error instanceof Refusal) || error.code !== 'forbidden') throw error;
};

/**
 * Checks that a message of a session is an approval. The events of the session are read only if the caller may see its
 * agent.
 * @throws Refusal not_found, also for members who may not see approvals: every caller gets this answer for an unknown id
 */
const requireApproval = async (ctx: Ctx, session_id: string, message_id: string): Promise<Loaded<Session.Session>> => {
  const { principal } = ctx;
  const session = await loadSession(ctx, session_id);
  if (principal.kind === 'runner') await requireOwnRunner(ctx, principal, session_id);
  else await ctx.require('agent:chat:read', session.state.agent_id).catch(ignoreForbidden);
  if (!(await findApproval(ctx, session, message_id))) throw notFound();
  return session;
};

/**
 * Checks that the caller may decide on an approval of a session. Users who may assign work to the agent may do so. No
 * runner may, because runners are the ones who ask.
 * @throws Refusal not_found, forbidden, tenant_suspended
 */
export const requireDecider = async (ctx: Ctx, session_id: string, message_id: string): Promise<void> => {
  await requireApproval(ctx, session_id, message_id);
  await requirePerson(ctx, session_id, 'Only a person may decide on an approval');
};

/**
 * Checks that the caller may read an approval of a session. The runner of the agent may do so, and users who may assign
 * work to the agent or read its chats.
 * @throws Refusal not_found, forbidden, tenant_suspended
 */
export const requireApprovalReader = async (ctx: Ctx, session_id: string, message_id: string): Promise<void> => {
  const { state } = await requireApproval(ctx, session_id, message_id);
  if (ctx.principal.kind === 'runner') return;
  if (!(await ctx.may('agent:assign', state.agent_id))) await ctx.require('agent:chat:read', state.agent_id);
};

/**
 * Checks that the caller may read a session: the runner of its agent may, and users who may read the chats of the agent.
 * @throws Refusal not_found, forbidden, tenant_suspended
 */
export const requireReader = async (ctx: Ctx, session_id: string): Promise<void> => {
  const { principal } = ctx;
  if (principal.kind === 'runner') return requireOwnRunner(ctx, principal, session_id);
  const { state } = await loadOrigin(ctx, session_id);
  await ctx.require('agent:chat:read', state.agent_id);
};
