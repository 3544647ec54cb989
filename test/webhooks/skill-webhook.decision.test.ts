import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { AggregateReader, Loaded } from '../../commands/context.ts';
import { type HidingEvent, type HidingPorts, hideSkillWebhook } from '../../commands/webhooks/hide-skill-webhooks.reactor.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { NO_DIGEST } from '../../domain/digest.ts';
import * as Skill from '../../domain/skills/skill.ts';
import type { RefusedCall } from '../../domain/webhooks/skill-refusal.ts';
import * as SkillWebhook from '../../domain/webhooks/skill-webhook.ts';
import { skillRefusalCounter } from '../../infra/refusals/skill-refusals.ts';
import { given, ID, TENANT } from '../fixtures/given.ts';

const DIGEST = '1'.repeat(64);
const OTHER_DIGEST = '2'.repeat(64);
const AGENT = 'cagent0000000000000000000';
const OTHER_AGENT = 'cagent1000000000000000000';
const AT = '2026-01-01T12:00:00.000Z';

const exposed: SkillWebhook.SkillWebhookEvent = {
  type: 'SkillWebhookExposed',
  data: { tenant_id: TENANT, agent_id: AGENT, digest: DIGEST },
};
const hidden: SkillWebhook.SkillWebhookEvent = { type: 'SkillWebhookHidden', data: { reason: 'requested' } };
const exposure = { tenant_id: TENANT, agent_id: AGENT, digest: OTHER_DIGEST };

test('exposing a skill again for the same agent emits no event; exposing it for another agent keeps the digest of the token', () => {
  given(SkillWebhook).when(SkillWebhook.expose(exposure)).emits({ type: 'SkillWebhookExposed', data: exposure });
  given(SkillWebhook, exposed).when(SkillWebhook.expose(exposure)).emits();
  given(SkillWebhook, exposed)
    .when(SkillWebhook.expose({ ...exposure, agent_id: OTHER_AGENT }))
    .emits({ type: 'SkillWebhookExposed', data: { ...exposure, agent_id: OTHER_AGENT, digest: DIGEST } });
  given(SkillWebhook, exposed, hidden).when(SkillWebhook.expose(exposure)).emits({ type: 'SkillWebhookExposed', data: exposure });
});

test('hiding a skill webhook, or rotating its token, is refused if the webhook is hidden, absent or in another tenant', () => {
  for (const events of [[], [exposed, hidden]]) {
    given(SkillWebhook, ...events)
      .when(SkillWebhook.hide(TENANT))
      .refuses('not_found');
    given(SkillWebhook, ...events)
      .when(SkillWebhook.rotateToken(TENANT, OTHER_DIGEST))
      .refuses('not_found');
  }
  given(SkillWebhook, exposed).when(SkillWebhook.hide('cother0000000000000000000')).refuses('not_found');
  given(SkillWebhook, exposed).when(SkillWebhook.rotateToken('cother0000000000000000000', OTHER_DIGEST)).refuses('not_found');
});

test('only the digest of the present token matches a skill webhook; if the webhook is hidden or absent, no digest matches', () => {
  const rotated: SkillWebhook.SkillWebhookEvent = { type: 'SkillWebhookTokenRotated', data: { digest: OTHER_DIGEST } };
  const { state } = given(SkillWebhook, exposed, rotated);
  assert.equal([SkillWebhook.matchesToken(state, OTHER_DIGEST), SkillWebhook.matchesToken(state, DIGEST)], [true, false]);
  assert.is(SkillWebhook.matchesToken(given(SkillWebhook, exposed, hidden).state, DIGEST), false);
  assert.equal([SkillWebhook.initial.digest, given(SkillWebhook, exposed, hidden).state.digest], [NO_DIGEST, NO_DIGEST]);
});

type World = { readonly webhook: readonly SkillWebhook.SkillWebhookEvent[]; readonly hasSkill: boolean; readonly isDeleted?: boolean };

/** Runs the reactor on an event at this position of the log. @returns the events that it appends */
const reactTo = async (event: Partial<HidingEvent>, position: number, { webhook, hasSkill, isDeleted = false }: World) => {
  const { state } = given(SkillWebhook, ...webhook);
  const skills = hasSkill ? { [ID]: { is_enabled: true, created_at: AT, config: null } } : {};
  const states = new Map<unknown, unknown>([
    [SkillWebhook, state],
    [Agent, { ...Agent.initial, status: 'live', skills }],
    [Skill, { ...Skill.initial, status: isDeleted ? 'deleted' : 'live' }],
  ]);
  const appended: SkillWebhook.SkillWebhookEvent[] = [];
  const ports: HidingPorts = {
    load: (async (aggregate: unknown) => ({ state: states.get(aggregate) }) as Loaded<never>) as AggregateReader['load'],
    transact: async (_, decide) => void appended.push(...decide(state)),
  };
  const at = { commit: BigInt(position), prepare: BigInt(position) };
  await hideSkillWebhook(ports, { event_id: 'e', position: at, ...event } as HidingEvent, AT);
  return appended.map(({ type, data }) => [type, (data as { reason?: string }).reason]);
};

const revoked = { type: 'AgentSkillRevoked', id: AGENT, data: { skill_id: ID } } as const;

test('if a skill is deleted, or revoked from its agent, the webhook of the skill is hidden once', async () => {
  assert.equal(await reactTo({ type: 'SkillDeleted', id: ID, data: {} }, 9, { webhook: [exposed], hasSkill: true, isDeleted: true }), [
    ['SkillWebhookHidden', 'skill_deleted'],
  ]);
  assert.equal(await reactTo(revoked, 9, { webhook: [exposed], hasSkill: false }), [['SkillWebhookHidden', 'skill_revoked']]);
  assert.equal(await reactTo(revoked, 9, { webhook: [exposed, hidden], hasSkill: false }), []);
  assert.equal(await reactTo(revoked, 9, { webhook: [], hasSkill: false }), []);
});

test('if a skill was revoked from its agent and granted again, its webhook is hidden, unless the skill was exposed again after it was revoked', async () => {
  assert.equal(await reactTo(revoked, 9, { webhook: [exposed], hasSkill: true }), [['SkillWebhookHidden', 'skill_revoked']]);
  assert.equal(await reactTo(revoked, 1, { webhook: [exposed, hidden, exposed], hasSkill: true }), []);
});

test('if a skill is revoked from an agent other than the one that gets its calls, the skill stays exposed', async () => {
  assert.equal(await reactTo({ ...revoked, id: OTHER_AGENT }, 9, { webhook: [exposed], hasSkill: true }), []);
});

test('if a skill is revoked from its agent while the skill is being exposed, handling SkillWebhookExposed hides the webhook', async () => {
  const event = { type: 'SkillWebhookExposed', id: ID, data: exposure } as const;
  assert.equal(await reactTo(event, 0, { webhook: [exposed], hasSkill: false }), [['SkillWebhookHidden', 'skill_revoked']]);
  assert.equal(await reactTo(event, 0, { webhook: [exposed], hasSkill: true }), []);
});

const refusedAt = (second: number, n: number): RefusedCall => ({
  id: `c${String(n).padStart(24, '0')}`,
  at: `2026-01-01T12:00:${String(second).padStart(2, '0')}.000Z`,
  ip: '192.0.2.1',
  user_agent: null,
  reason: 'token_invalid',
});

test('the first 60 refused calls of a skill webhook in a minute are recorded as one event each; the others are recorded in events that list many calls each', () => {
  const { add, take } = skillRefusalCounter();
  for (let n = 0; n < 1_300; n++) add({ agent_id: AGENT, call: refusedAt(1, n) }, AT);
  const taken = [take(AT, false), take(AT, false), take(AT, false), take(AT, false)];
  assert.equal(
    taken.map((events) => events.map(({ event }) => event.data.calls.length)),
    [[...Array(60).fill(1), 440], [500], [300], []],
  );
  const ids = taken.flat().flatMap(({ event }) => event.data.calls.map(({ id }) => id));
  assert.equal(
    ids,
    Array.from({ length: 1_300 }, (_, n) => refusedAt(1, n).id),
  );
});

test('refused calls that could not be recorded are kept and recorded later in the same order; if there are more than 100,000, the others are dropped', () => {
  const { add, take, putBack, isIdle } = skillRefusalCounter();
  for (let n = 0; n < 3; n++) add({ agent_id: AGENT, call: refusedAt(1, n) }, AT);
  assert.is(putBack(take(AT, false)), 0);
  add({ agent_id: AGENT, call: refusedAt(2, 3) }, AT);
  assert.equal(
    take(AT, false).flatMap(({ event }) => event.data.calls.map(({ id }) => Number(id.slice(1)))),
    [0, 1, 2, 3],
  );
  assert.equal([isIdle(AT), isIdle('2026-01-01T12:01:00.000Z')], [false, true]);
});

test.run();
