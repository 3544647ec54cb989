import { favorite, unfavorite } from '../../domain/identity/favorite-agents.ts';
import * as User from '../../domain/identity/user.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Ctx, Loaded } from '../context.ts';
import { loadAgent } from './agent.ts';

type AgentPath = { readonly agent_id: string };

/** @throws Refusal forbidden if the caller is a runner or the platform itself */
const callingUser = ({ principal }: Ctx): string => {
  if (principal.kind !== 'user') throw new Refusal('forbidden', 'Only users have favorites');
  return principal.user_id;
};

const changeFavorite = async (ctx: Ctx, agent_id: string, decide: typeof favorite): Promise<Loaded<User.User>> => {
  const user_id = callingUser(ctx);
  await loadAgent(ctx, agent_id);
  return ctx.transact(User, user_id, decide({ agent_id, tenant_id: ctx.tenant }));
};

/** @throws Refusal not_found, conflict if the user has too many */
export const favoriteAgent = async (ctx: Ctx, { agent_id }: AgentPath) => {
  const loaded = await changeFavorite(ctx, agent_id, favorite);
  return { ...loaded, state: { user_id: loaded.id, agent_id } };
};

/** @throws Refusal not_found if there is no such agent */
export const unfavoriteAgent = (ctx: Ctx, { agent_id }: AgentPath) => changeFavorite(ctx, agent_id, unfavorite);

/** Empty if the caller is not a user. */
export const loadFavorites = async ({ principal, load }: Ctx): Promise<User.User['favorites']> =>
  principal.kind === 'user' ? (await load(User, principal.user_id)).state.favorites : {};
