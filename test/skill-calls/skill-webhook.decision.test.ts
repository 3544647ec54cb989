import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ReactorCtx } from '../../commands/context.ts';
import { type HidingEvent, hideSkillWebhook } from '../../commands/skill-calls/hide-skill-webhooks.reactor.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { NO_DIGEST } from '../../domain/digest.ts';
import type { RefusedCall, SkillRefusalEvent } from '../../domain/skill-calls/skill-refusal.ts';
import * as SkillWebhook from '../../domain/skill-calls/skill-webhook.ts';
import * as Skill from '../../domain/skills/skill.ts';
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
  const ctx = {
    inTenant: () => ctx,
    load: async (aggregate: unknown) => ({ state: states.get(aggregate) }),
    transact: async (_: unknown, __: string, decide: ReturnType<typeof SkillWebhook.hideExposure>) => void appended.push(...decide(state)),
  } as unknown as ReactorCtx;
  const at = { commit: BigInt(position), prepare: BigInt(position) };
  await hideSkillWebhook(ctx, { event_id: 'e', position: at, ...event } as HidingEvent);
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

const refusedAt = (at: string, n: number, ip = '192.0.2.1'): RefusedCall => ({
  ...{ id: `c${String(n).padStart(24, '0')}`, at, ip, user_agent: null, reason: 'token_invalid' as const },
});

/** Returns a function that adds refused calls at a time, and one that takes all pending events. */
const openCounter = () => {
  const counter = skillRefusalCounter();
  let n = 0;
  const add = (count: number, at: string, ipOf: (index: number) => string = () => '192.0.2.1'): void => {
    for (let index = 0; index < count; index++) counter.add({ agent_id: AGENT, call: refusedAt(at, n++, ipOf(index)) }, at);
  };
  const takeAll = (at: string, isLast = false): SkillRefusalEvent[] => {
    const found: SkillRefusalEvent[] = [];
    for (let taken = counter.take(at, isLast); taken.length > 0; taken = counter.take(at, isLast))
      found.push(...taken.map(({ event }) => event));
    return found;
  };
  return { ...counter, add, takeAll };
};
const callsIn = (events: readonly SkillRefusalEvent[]): RefusedCall[] =>
  events.flatMap((event) => (event.type === 'SkillWebhookRefused' ? event.data.calls : []));
const countsIn = (events: readonly SkillRefusalEvent[]) =>
  events.flatMap((event) => (event.type === 'SkillWebhookRefusalsCounted' ? [event.data] : []));
const minute = (at: number): string => `2026-01-01T12:${String(at).padStart(2, '0')}:01.000Z`;

test('the first 100 refused calls of an address in an hour are recorded one by one, and the others are counted', () => {
  const { add, takeAll } = openCounter();
  add(1_300, minute(0));
  const first = takeAll(minute(0));
  assert.equal(
    first.map((event) => callsIn([event]).length),
    [...Array(60).fill(1), 40],
    'one event each for the first 60 of a minute',
  );
  assert.equal(
    callsIn(first).map(({ id }) => Number(id.slice(1))),
    Array.from({ length: 100 }, (_, n) => n),
  );
  add(700, minute(9));
  assert.equal(takeAll(minute(9)), [], 'the number is recorded every ten minutes');
  const [counted, ...others] = countsIn(takeAll(minute(10)));
  assert.equal(counted, { id: refusedAt('', 1_999).id, agent_id: AGENT, ip: '192.0.2.1', count: 1_900, first: minute(0), last: minute(9) });
  assert.equal(others, []);
  add(2, '2026-01-01T13:00:00.000Z');
  assert.is(callsIn(takeAll('2026-01-01T13:00:00.000Z')).length, 2, 'in the next hour, calls are listed again');
});

test('a flood of refused calls from one address hides no refused call from another address', () => {
  const { add, takeAll } = openCounter();
  add(5_000, minute(0));
  add(3, minute(1), () => '198.51.100.7');
  const listed = callsIn(takeAll(minute(1))).map(({ ip }) => ip);
  assert.equal([listed.length, listed.filter((ip) => ip === '198.51.100.7').length], [103, 3]);
});

test('refused calls from very many addresses take a limited number of events, and an IPv6 network counts as one address', () => {
  const { add, takeAll } = openCounter();
  for (let part = 0; part < 6; part++)
    add(20_000, minute(part * 10), (index) => `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`);
  const events = takeAll(minute(59), true);
  assert.is(callsIn(events).length, 100 * 6);
  assert.equal(
    countsIn(events).map(({ ip, count }) => [ip, count]),
    Array(6).fill([null, 19_900]),
  );
  const network = openCounter();
  network.add(500, minute(0), (index) => `2001:db8::${index.toString(16)}`);
  assert.equal([callsIn(network.takeAll(minute(0))).length, countsIn(network.takeAll(minute(0), true))[0]!.count], [100, 400]);
});

test('refused calls that could not be recorded are kept and recorded later in the same order', () => {
  const { add, take, putBack, takeAll, isIdle } = openCounter();
  add(103, minute(0));
  assert.is(putBack(take(minute(0), true)), 0);
  add(1, minute(1), () => '198.51.100.7');
  const events = takeAll(minute(1));
  const ofFirst = callsIn(events).filter(({ ip }) => ip === '192.0.2.1');
  assert.equal([callsIn(events).length, countsIn(events)[0]!.count], [101, 3]);
  assert.equal(
    ofFirst.map(({ id }) => Number(id.slice(1))),
    Array.from({ length: 100 }, (_, n) => n),
  );
  assert.equal([isIdle(minute(1)), isIdle('2026-01-01T13:00:00.000Z')], [false, true], 'for an hour, it remembers what it has listed');
});

test.run();
