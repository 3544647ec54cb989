import type * as Agent from '../../domain/agents/agent.ts';
import { databaseUrl } from '../../domain/credentials/database-url.ts';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import type { Ctx } from '../context.ts';
import { type LoadedIdentity, loadGivenIdentities } from './agent-credentials.ts';
import { type ClearTokens, identitySecret } from './linked-identity.ts';

const ownIdentities = (ctx: Ctx, agent_id: string, providers: readonly string[]): Promise<LoadedIdentity[]> =>
  Promise.all(
    providers.map((provider) =>
      ctx.load(LinkedIdentity, ctx.secrets.uniqueId(LinkedIdentity.KIND, LinkedIdentity.identityKey(agent_id, provider))),
    ),
  );

const isUsable = ({ status, connected, expires_at }: LinkedIdentity.LinkedIdentity, at: string): boolean =>
  status === 'linked' && connected && (expires_at === null || expires_at > at);

const NO_DATABASE = { host: null, port: null, database: null, user: null, sslmode: null, url: null };

/** All fields are null if the credential is an account. */
const databaseOf = (access: LinkedIdentity.DatabaseAccess | null, password: string) => {
  if (access === null) return NO_DATABASE;
  const { username, ...rest } = access;
  return { ...rest, user: username, url: databaseUrl(access, password) };
};

const openCredential = async (ctx: Ctx, { id, state }: LoadedIdentity) => {
  const { provider, label, agent_id, scopes, expires_at, database, sealed } = state;
  const opened = (await ctx.secrets.open(identitySecret(ctx.tenant, id), sealed!)).reveal();
  const secret = database === null ? (JSON.parse(opened) as ClearTokens).access_token : opened;
  const owner = agent_id === null ? ('tenant' as const) : ('agent' as const);
  return { identity_id: id, owner, provider, label, secret, scopes, expires_at, ...databaseOf(database, secret) };
};

/**
 * The agent's accounts at these providers, then the tenant's credentials that were given to it (none if the agent is inactive); in clear text,
 * without expired tokens.
 */
export const runtimeCredentials = async (ctx: Ctx, agent: Agent.Agent, providers: readonly string[]) => {
  const [own, given] = await Promise.all([ownIdentities(ctx, agent.id, providers), agent.is_active ? loadGivenIdentities(ctx, agent) : []]);
  const loaded = [...own, ...given].filter(({ state }) => isUsable(state, ctx.at()));
  return { credentials: await Promise.all(loaded.map((identity) => openCredential(ctx, identity))), loaded };
};
