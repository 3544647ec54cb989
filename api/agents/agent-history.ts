import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { comparePositions, type Position, type Recorded, tokenOf } from '../../domain/event.ts';
import { EventId, Instant, Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import type { Transient } from '../../domain/immutable-record.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { AgentRead } from '../../projections/agents/agent.ts';
import { readCursorKey, writeCursor } from '../../projections/cursor.ts';
import { takeUpToPageSize } from '../../projections/read-model.ts';
import { AS_OF_PROJECTION, resolvePosition } from '../http/as-of.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { listQuery, type PageWindow } from '../http/paging.ts';
import { scopedCache } from '../http/scoped-cache.ts';

const AGENT = '/tenant/:tenant_id/agents/:agent_id';

const Change = z.object({
  pointer: z.string().meta({ description: 'A JSON pointer to the field that changed', examples: ['/description'] }),
  from: z.unknown().meta({ description: 'The value before', examples: [null] }),
  to: z.unknown().meta({ description: 'The value after', examples: ['Reviews pull requests'] }),
});
const ActorRead = z.object({
  kind: z.enum(['user', 'agent', 'system']).meta({ description: 'What kind of actor this is' }),
  id: z
    .string()
    .meta({ description: 'The id of the user or agent, or the name of the part of the platform', examples: ['cagb8wd2opnlj1oqbntoemz4x'] }),
  key_id: z.string().nullish().meta({ description: 'The API key that was used; null if none was' }),
});

const HistoryEntry = z
  .object({
    event_id: EventId,
    type: z.string().meta({ description: 'The type of the event', examples: ['AgentUpdated'] }),
    at: Timestamp.meta({ description: 'When it happened' }),
    actor: ActorRead.meta({ description: 'Who did it' }),
    cause: z.string().nullable().meta({ description: 'The id of the event that caused this one' }),
    position: z.string().meta({ description: 'The position of the event in the log', examples: ['48211:48211'] }),
    revision: z.int().meta({ description: "The index of the event in the agent's stream" }),
    changes: z.array(Change).meta({ description: 'The fields that changed' }),
  })
  .meta({ id: 'HistoryEntry' });

const ResourceDiff = z
  .object({
    id: idOf('agent'),
    from: z.string().meta({ description: 'The position of the earlier state', examples: ['47110:47110'] }),
    to: z.string().meta({ description: 'The position of the later state', examples: ['48211:48211'] }),
    changes: z.array(Change).meta({ description: 'The fields that differ' }),
  })
  .meta({ id: 'ResourceDiff' });

type Fields = Record<string, unknown>;

const agentNotFound = (): Refusal => new Refusal('not_found', 'There is no such agent');

/** Returns the fields of an agent that its history shows: settings, model chain, roles and grants. */
const visibleFields = (agent: Agent.Agent): Fields => {
  if (agent.status === 'absent') return {};
  const rolesOf = (assignments: Agent.Agent['roles'] | Agent.Agent['grants']) =>
    Object.fromEntries(Object.entries(assignments).map(([user_id, { role }]) => [user_id, role]));
  return {
    ...AgentRead.parse(agent),
    deleted: agent.status !== 'live',
    models: agent.models.map(({ model_id, access }) => ({ model_id, access })),
    roles: rolesOf(agent.roles),
    grants: rolesOf(agent.grants),
  };
};

const changesBetween = (from: Fields, to: Fields): z.output<typeof Change>[] =>
  Object.keys({ ...from, ...to })
    .filter((name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]))
    .map((name) => ({ pointer: `/${name}`, from: from[name] ?? null, to: to[name] ?? null }));

type Step = { readonly event: Recorded<Agent.AgentEvent>; readonly before: Agent.Agent; readonly after: Agent.Agent };

const entryOf = ({ event, before, after }: Step): z.output<typeof HistoryEntry> => {
  const { event_id, type, at, actor, meta, revision } = event;
  const changes = changesBetween(visibleFields(before), visibleFields(after)).filter(({ pointer }) => pointer !== '/updated_at');
  return { event_id, type, at, actor, cause: meta.$causationId ?? null, position: tokenOf(event.position), revision, changes };
};

/**
 * Before each revision that is a multiple of this number, the state of the agent is cached. So another page of the
 * history can be read without folding all earlier events. Cached states never become outdated, because stored events
 * never change.
 */
const STATE_INTERVAL = 200;
const MAX_CACHED_STATES = 500;

const cachedStates = scopedCache<Agent.Agent>(MAX_CACHED_STATES);

/**
 * Returns the state of an agent before the event with this revision. Folds the earlier events, starting from the
 * nearest cached state.
 */
const stateBefore = async (ctx: Ctx, agent_id: string, revision: number): Promise<Agent.Agent> => {
  const keyOf = (at: number): string => `${ctx.tenant}.${agent_id}@${at}`;
  let from = revision - (revision % STATE_INTERVAL);
  while (from > 0 && !cachedStates.get(ctx.reads, keyOf(from))) from -= STATE_INTERVAL;
  let state = cachedStates.get(ctx.reads, keyOf(from)) ?? Agent.initial;
  let transient: Transient = new WeakSet();
  if (from === revision) return state;
  for await (const event of ctx.history(Agent, agent_id, { from, limit: revision - from })) {
    state = Agent.evolve(state, event, transient);
    if ((event.revision + 1) % STATE_INTERVAL !== 0) continue;
    cachedStates.set(ctx.reads, keyOf(event.revision + 1), state);
    transient = new WeakSet();
  }
  return state;
};

/**
 * Returns the last `limit` events with a revision below `end`, newest first, each with the state before and after it.
 */
const stepsBefore = async (ctx: Ctx, agent_id: string, end: number, limit: number): Promise<Step[]> => {
  const from = Math.max(0, end - limit);
  if (from >= end) return [];
  const steps: Step[] = [];
  let before = await stateBefore(ctx, agent_id, from);
  for await (const event of ctx.history(Agent, agent_id, { from, limit: end - from })) {
    const after = Agent.evolve(before, event);
    steps.push({ event, before, after });
    before = after;
  }
  return steps.reverse();
};

/**
 * Lists the agent's events, newest first, each with the fields that it changed. Earlier events are read, too, to fold
 * the state before the page: fewer than STATE_INTERVAL of them if a state is cached.
 * @throws Refusal not_found, invalid
 */
const readHistory = async (ctx: Ctx, { agent_id, limit, cursor }: PageWindow & { agent_id: string }) => {
  const { revision, position } = await ctx.load(Agent, agent_id);
  if (revision < 0) throw agentNotFound();
  const cursorKey = readCursorKey(cursor, 'bigint');
  const steps = await stepsBefore(ctx, agent_id, Math.min(Number(cursorKey?.[0] ?? Number.POSITIVE_INFINITY), revision + 1), limit);
  const docs = takeUpToPageSize(Iterator.from(steps).map((step) => JSON.stringify(entryOf(step))));
  const last = steps[docs.length - 1]?.event;
  const next = last && last.revision > 0 ? writeCursor([last.revision, last.event_id]) : null;
  return { body: `[${docs}]`, next, total: revision + 1, position };
};

const fieldsAt = async (ctx: Ctx, agent_id: string, until: Position): Promise<Fields> => {
  const transient: Transient = new WeakSet();
  let state = Agent.initial;
  for await (const event of ctx.history(Agent, agent_id)) {
    if (comparePositions(event.position, until) > 0) break;
    state = Agent.evolve(state, event, transient);
  }
  return visibleFields(state);
};

/** How far the clock of a client may be ahead of ours, in milliseconds. */
const MAX_CLOCK_SKEW_MS = 60_000;

const timeOf = (text: string): number => Date.parse(Instant.safeParse(text).data ?? '');

/**
 * The positions of the query parameters `from` and `to`. Without `to`, the range ends with the agent's last event, whose
 * position is `latest`.
 * @throws Refusal invalid if one of them lies in the future, or `from` is after `to`
 */
const positionsBetween = async (ctx: Ctx, from: string, to: string | undefined, latest: Position): Promise<[Position, Position]> => {
  for (const [name, text] of Object.entries({ from, to }))
    if (text !== undefined && timeOf(text) > Date.parse(ctx.at()) + MAX_CLOCK_SKEW_MS)
      throw invalid(`/query/${name}`, 'must not be a time in the future', 'in_future');
  const first = await resolvePosition(ctx, from, 'from');
  if (to === undefined) return [first, comparePositions(first, latest) > 0 ? first : latest];
  const last = await resolvePosition(ctx, to, 'to');
  // Two different times can lead to the same log position, if the tenant has no event between them.
  if (comparePositions(first, last) > 0 || timeOf(from) > timeOf(to)) throw invalid('/query/from', 'must not be after `to`', 'after_to');
  return [first, last];
};

export const historyOperations = {
  readAgentHistory: operation({
    method: 'get',
    path: `${AGENT}/history`,
    summary: "List the agent's events",
    details: 'Each entry has the fields that the event changed.',
    permit: 'agent:read',
    query: listQuery({}).omit({ sort: true }),
    reply: z.array(HistoryEntry),
    run: readHistory,
  }),
  diffAgent: operation({
    method: 'get',
    path: `${AGENT}/diff`,
    summary: 'Compare the agent at two times or positions',
    permit: 'agent:read',
    query: z.strictObject({
      from: z.string().max(64).meta({ description: 'The earlier time or Consistency-Token' }),
      to: z.string().max(64).optional().meta({ description: 'The later time or Consistency-Token; default: now' }),
    }),
    reply: ResourceDiff,
    projection: AS_OF_PROJECTION,
    noETag: true,
    run: async (ctx, { agent_id, from, to }) => {
      const loaded = await ctx.load(Agent, agent_id);
      if (!loaded.position) throw agentNotFound();
      const [first, last] = await positionsBetween(ctx, from, to, loaded.position);
      const [before, after] = await Promise.all([fieldsAt(ctx, agent_id, first), fieldsAt(ctx, agent_id, last)]);
      const state = { id: agent_id, from: tokenOf(first), to: tokenOf(last), changes: changesBetween(before, after) };
      // No ETag: `from` and `to` can be times. The same time can resolve to another position later, although the
      // agent's revision stays the same.
      return { ...loaded, revision: -1, state };
    },
  }),
};
