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

/** Includes what other processes have appended. @throws Refusal not_found */
export const loadSession = loader({ isFresh: true });

/** For fields that never change, such as the agent and who has started the session. @throws Refusal not_found */
const loadOrigin = loader({});

/**
 * Who may write in a session. `runner`: only the runner of its agent. `persons`: also users who may assign work to the agent, if a person
 * has started the session. `assigners`: also these users, in every session of the agent.
 */
export type Writers = 'runner' | 'persons' | 'assigners';

const RUNNER_ONLY = "This needs the agent's runner key";
const NOT_OF_PERSON = 'The runner has started this session, so only the runner writes in it: start a session of your own';

/**
 * In a suspended tenant, the same refusal for all sessions of other agents, so that a runner learns nothing about them.
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
 * Requires the agent's runner, or a caller whom `others` allows; users also need the permission to assign work to the agent.
 * @throws Refusal not_found if there is no such session or the caller may not see its agent, forbidden, tenant_suspended
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

/** Requires a user who may assign work to the agent; refuses runners with `runnerText`. @throws Refusal not_found, forbidden, tenant_suspended */
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

/** Requires a user who may assign work to the agent. @throws Refusal not_found, forbidden, tenant_suspended */
export const requireInterrupter = async (ctx: Ctx, session_id: string): Promise<void> =>
  void (await requirePerson(ctx, session_id, 'Only a person may interrupt the runner: a runner stops on its own'));

const ignoreForbidden = (error: unknown): void => {
  if (!(error instanceof Refusal) || error.code !== 'forbidden') throw error;
};

/**
 * Reads events only if the caller may see the agent.
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

/** Requires a user who may assign work to the agent. Runners cannot decide. @throws Refusal not_found, forbidden, tenant_suspended */
export const requireDecider = async (ctx: Ctx, session_id: string, message_id: string): Promise<void> => {
  await requireApproval(ctx, session_id, message_id);
  await requirePerson(ctx, session_id, 'Only a person may decide on an approval');
};

/** Requires the agent's runner, or a user who may assign work to it or read its chats. @throws Refusal not_found, forbidden, tenant_suspended */
export const requireApprovalReader = async (ctx: Ctx, session_id: string, message_id: string): Promise<void> => {
  const { state } = await requireApproval(ctx, session_id, message_id);
  if (ctx.principal.kind === 'runner') return;
  if (!(await ctx.may('agent:assign', state.agent_id))) await ctx.require('agent:chat:read', state.agent_id);
};

/** Requires the agent's runner, or a user who may read its chats. @throws Refusal not_found, forbidden, tenant_suspended */
export const requireReader = async (ctx: Ctx, session_id: string): Promise<void> => {
  const { principal } = ctx;
  if (principal.kind === 'runner') return requireOwnRunner(ctx, principal, session_id);
  const { state } = await loadOrigin(ctx, session_id);
  await ctx.require('agent:chat:read', state.agent_id);
};
