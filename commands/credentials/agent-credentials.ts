import * as Agent from '../../domain/agents/agent.ts';
import { giveCredential, isFull, takeCredential } from '../../domain/agents/agent-credentials.ts';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import { conflict } from '../../domain/refusal.ts';
import { loadAgent } from '../agents/agent.ts';
import type { Ctx, Loaded } from '../context.ts';

export type LoadedIdentity = Loaded<LinkedIdentity.LinkedIdentity>;

/** Leaves out identities that were unlinked, or got another user or database, after they were given. */
export const loadGivenIdentities = async (ctx: Ctx, { credentials }: Agent.Agent): Promise<LoadedIdentity[]> => {
  const loaded = await Promise.all(Object.keys(credentials).map((id) => ctx.load(LinkedIdentity, id)));
  return loaded.filter(({ id, state }) => LinkedIdentity.isLinkedSince(state, credentials[id]!.identity_revision));
};

/** A credential of the tenant as the API shows it for an agent. */
export const agentCredentialView = ({ credentials }: Agent.Agent, { id, state }: Pick<LoadedIdentity, 'id' | 'state'>) => {
  const { provider, label, database, connected } = state;
  const { given_at, given_by } = credentials[id]!;
  return {
    identity_id: id,
    provider,
    label,
    host: database?.host ?? null,
    database: database?.database ?? null,
    connected,
    given_at,
    given_by,
  };
};

/** An identity of the tenant itself. @throws Refusal not_found, conflict if it belongs to an agent */
const loadIdentityOfTenant = async (ctx: Ctx, identity_id: string): Promise<LoadedIdentity> => {
  const identity = await ctx.load(LinkedIdentity, identity_id);
  LinkedIdentity.assertLinked(identity.state);
  if (identity.state.agent_id === null) return identity;
  throw conflict('/path/identity_id', 'identity_of_agent', 'This account belongs to an agent: only accounts of the tenant can be given');
};

/** Returns the unlinked credentials of the agent. They are read only if it has the maximum number. */
const unlinkedOf = async (ctx: Ctx, agent: Agent.Agent): Promise<Agent.Agent['credentials']> => {
  if (!isFull(agent)) return {};
  const linked = new Set((await loadGivenIdentities(ctx, agent)).map(({ id }) => id));
  return Object.fromEntries(Object.entries(agent.credentials).filter(([id]) => !linked.has(id)));
};

type Named = { readonly agent_id: string; readonly identity_id: string };

/** The runner of the agent then gets the secret of the credential. @throws Refusal not_found, conflict */
export const giveAgentCredential = async (ctx: Ctx, { agent_id, identity_id }: Named) => {
  const { state } = await loadAgent(ctx, agent_id);
  // A repeat with the same Idempotency-Key succeeds even if the identity was unlinked since.
  const identity = await ctx.sideEffect(async () => {
    const { id, state } = await loadIdentityOfTenant(ctx, identity_id);
    return { id, state: { ...state, sealed: null } };
  });
  const { label, access_revision } = identity.state;
  const gift = { identity_id, credential_label: label, identity_revision: access_revision };
  const loaded = await ctx.transact(Agent, agent_id, giveCredential(gift, await unlinkedOf(ctx, state)));
  return { ...loaded, state: agentCredentialView(loaded.state, identity) };
};

/** Does nothing if the agent does not have the credential. @throws Refusal not_found if there is no such agent or identity */
export const takeAgentCredential = async (ctx: Ctx, { agent_id, identity_id }: Named) => {
  const { state } = await loadAgent(ctx, agent_id);
  await ctx.sideEffect(async () => {
    if (!state.credentials[identity_id]) await loadIdentityOfTenant(ctx, identity_id);
    return null;
  });
  return ctx.transact(Agent, agent_id, takeCredential(identity_id));
};
