import { test } from 'uvu';
import { favorite, MAX_FAVORITES, unfavorite } from '../../domain/identity/favorite-agents.ts';
import * as User from '../../domain/identity/user.ts';
import { given, TENANT } from '../fixtures/given.ts';

const of = (agent_id: string): User.FavoriteAgent => ({ agent_id, tenant_id: TENANT });
const marked = (agent_id: string): User.UserEvent => ({ type: 'AgentFavorited', data: of(agent_id) });
const unmarked = (agent_id: string): User.UserEvent => ({ type: 'AgentUnfavorited', data: of(agent_id) });

test('marking an agent as a favorite a second time, or removing a favorite that does not exist, emits no event', () => {
  given(User)
    .when(favorite(of('a')))
    .emits(marked('a'));
  given(User, marked('a'))
    .when(favorite(of('a')))
    .emits();
  given(User, marked('a'), marked('b'))
    .when(unfavorite(of('a')))
    .emits(unmarked('a'));
  given(User, marked('a'), unmarked('a'))
    .when(unfavorite(of('a')))
    .emits();
  given(User, marked('a'), unmarked('a'))
    .when(favorite(of('a')))
    .emits(marked('a'));
});

test('a user can mark agents as favorites up to the maximum number; marking one more is refused', () => {
  const almost = Array.from({ length: MAX_FAVORITES - 1 }, (_, index) => marked(`a${index}`));
  given(User, ...almost)
    .when(favorite(of('last')))
    .emits(marked('last'));
  given(User, ...almost, marked('last'))
    .when(favorite(of('more')))
    .refuses('conflict');
  given(User, ...almost, marked('last'))
    .when(favorite(of('last')))
    .emits();
  given(User, ...almost, marked('last'), unmarked('a0'))
    .when(favorite(of('more')))
    .emits(marked('more'));
});

test.run();
