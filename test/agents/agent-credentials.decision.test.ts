import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import { clone } from '../../domain/agents/agent-clone.ts';
import { giveCredential, MAX_AGENT_CREDENTIALS, takeCredential } from '../../domain/agents/agent-credentials.ts';
import { restore, undelete } from '../../domain/agents/agent-restore.ts';
import * as SlackConfig from '../../domain/slack/slack-config.ts';
import { ACTOR, at, given } from '../fixtures/given.ts';

const created: Agent.AgentEvent = {
  type: 'AgentCreated',
  data: { ...Agent.defaults, name: 'A', slug: 'a', generation: 0, owner_id: null, skill_visibility_scope: 'private_only', is_seed: false },
};
const gift = (identity_id: string, identity_revision = 0) => ({ identity_id, credential_label: identity_id, identity_revision });
const gave = (identity_id: string, identity_revision = 0): Agent.AgentEvent => ({
  type: 'AgentCredentialGiven',
  data: gift(identity_id, identity_revision),
});
const took = (identity_id: string): Agent.AgentEvent => ({
  type: 'AgentCredentialTaken',
  data: { identity_id, credential_label: identity_id },
});
const credentialOf = (label: string, identity_revision = 0) => ({ label, identity_revision, given_at: at(1), given_by: ACTOR });
const deleted: Agent.AgentEvent = { type: 'AgentDeleted', data: {} };
const full = Array.from({ length: MAX_AGENT_CREDENTIALS }, (_, index) => gave(`i${index}`));

test('the state of an agent records who gave it a credential, and when', () => {
  const { state } = given(Agent, created, gave('a'));
  assert.equal(state.credentials, { a: { label: 'a', identity_revision: 0, given_at: at(1), given_by: ACTOR } });
});

test('giving a credential again, or taking one that the agent does not have, emits no event', () => {
  given(Agent, created)
    .when(giveCredential(gift('a')))
    .emits(gave('a'));
  given(Agent, created, gave('a'))
    .when(giveCredential(gift('a')))
    .emits();
  given(Agent, created, gave('a')).when(takeCredential('a')).emits(took('a'));
  given(Agent, created, gave('a'), took('a')).when(takeCredential('a')).emits();
});

test('a credential that was unlinked and linked again must be given again', () =>
  given(Agent, created, gave('a'))
    .when(giveCredential(gift('a', 9)))
    .emits(gave('a', 9)));

test('giving an agent an older link of a credential than the one that it has emits no event', () =>
  given(Agent, created, gave('a', 9))
    .when(giveCredential(gift('a', 8)))
    .emits());

test('credentials cannot be given to a missing or deleted agent, nor taken from it', () => {
  for (const events of [[], [created, gave('a'), took('a'), deleted]]) {
    given(Agent, ...events)
      .when(giveCredential(gift('a')))
      .refuses('not_found');
    given(Agent, ...events)
      .when(takeCredential('a'))
      .refuses('not_found');
  }
});

test('an agent with the maximum number of credentials gets another one only if unlinked ones can be removed from it', () => {
  given(Agent, created, ...full)
    .when(giveCredential(gift('more')))
    .refuses('conflict');
  given(Agent, created, ...full)
    .when(giveCredential(gift('more'), { i1: credentialOf('i1'), i2: credentialOf('i2', 9), unknown: credentialOf('unknown') }))
    .emits(took('i1'), gave('more'));
  given(Agent, created, ...full)
    .when(giveCredential(gift('i0', 9)))
    .emits(gave('i0', 9));
  given(Agent, created, gave('i1'))
    .when(giveCredential(gift('more'), { i1: credentialOf('i1') }))
    .emits(gave('more'));
});

test('deleting an agent takes all credentials from it, so a restored one has none', () => {
  given(Agent, created, gave('a')).when(Agent.remove).emits(deleted);
  const { state } = given(Agent, created, gave('a'), deleted);
  const [restored] = undelete(state, {}, null);
  assert.equal(given(Agent, created, gave('a'), deleted, restored!).state.credentials, {});
});

test('restoring an earlier revision neither gives nor takes credentials', () => {
  const earlier = given(Agent, created, gave('a')).state;
  given(Agent, created, gave('a'), took('a')).when(restore(earlier, 1)).emits();
  given(Agent, created, gave('a'))
    .when(restore(given(Agent, created).state, 0))
    .emits();
});

test('a copy of an agent gets none of its credentials', () => {
  const source = given(Agent, created, gave('a')).state;
  const identity = { name: 'B', slug: 'b', generation: 0, owner_id: null, source_revision: 1 };
  const events = clone(source, { slack_config: SlackConfig.initial, skill_ids: new Set() }, identity)();
  assert.not.ok(JSON.stringify(events).includes('credential'));
  assert.equal(given(Agent, ...events).state.credentials, {});
});

test.run();
