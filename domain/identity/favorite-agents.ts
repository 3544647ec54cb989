import { Refusal } from '../refusal.ts';
import type { FavoriteAgent, User, UserEvent } from './user.ts';

/** Per user. */
export const MAX_FAVORITES = 10_000;

/** Does nothing if the agent is a favorite already. @throws Refusal conflict if the user already has MAX_FAVORITES */
export const favorite =
  ({ agent_id, tenant_id }: FavoriteAgent) =>
  ({ favorites }: User): UserEvent[] => {
    if (favorites[agent_id] !== undefined) return [];
    if (Object.keys(favorites).length >= MAX_FAVORITES)
      throw new Refusal('conflict', `You have marked ${MAX_FAVORITES} agents as favorites, which is the maximum`);
    return [{ type: 'AgentFavorited', data: { agent_id, tenant_id } }];
  };

/** Does nothing if the agent is not a favorite. */
export const unfavorite =
  ({ agent_id, tenant_id }: FavoriteAgent) =>
  ({ favorites }: User): UserEvent[] =>
    favorites[agent_id] === undefined ? [] : [{ type: 'AgentUnfavorited', data: { agent_id, tenant_id } }];
