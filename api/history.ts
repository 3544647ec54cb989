import { z } from 'zod';
import * as Agent from '../domain/agent.ts';
import { comparePositions, type Position, parseToken, tokenOf } from '../domain/event.ts';
import { Id25 } from '../domain/id.ts';
import { Refusal } from '../domain/refusal.ts';
import { AgentRead } from '../projections/agent.ts';
import { writeCursor } from '../projections/cursor.ts';
import { fitting } from '../projections/reads.ts';
import { AS_OF_RESTS, positionOf } from './as-of.ts';
import type { Ctx } from './operation.ts';
import { operation } from './operation.ts';
import { listQuery, type Order, pageOf } from './paging.ts';

const AGENT = '/tenant/:tenant_id/agents/:agent_id';

const Change = z.object({ pointer: z.string(), from: z.unknown(), to: z.unknown() });
const Named = z.object({ kind: z.enum(['user', 'agent', 'system']), id: z.string(), key_id: z.string().nullish() });

const HistoryEntry = z
  .object({
    event_id: z.string(),
    type: z.string(),
    at: z.string(),
    actor: Named,
    cause: z.string().nullable(),
    position: z.string(),
    revision: z.int(),
    changes: z.array(Change),
  })
  .meta({ id: 'HistoryEntry' });

const ResourceDiff = z.object({ id: Id25, from: z.string(), to: z.string(), changes: z.array(Change) }).meta({ id: 'ResourceDiff' });

type Fields = Record<string, unknown>;

const absent = (): Refusal => new Refusal('not_found', 'there is no such agent');

/** What can be seen of an agent: its fields, its chain, and who holds what on it. */
const visible = (agent: Agent.Agent): Fields => {
  if (agent.status === 'absent') return {};
  const rolesOf = (held: Agent.Agent['roles'] | Agent.Agent['grants']) =>
    Object.fromEntries(Object.entries(held).map(([user_id, { role }]) => [user_id, role]));
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

const newestFirst: Order<z.output<typeof HistoryEntry>> = {
  type: 'bigint',
  descending: true,
  placeOf: ({ revision, event_id }) => [revision, event_id],
};

/** Every event of the agent with the fields that it changed. @throws Refusal not_found */
const history = async (ctx: Ctx, agent_id: string): Promise<z.output<typeof HistoryEntry>[]> => {
  const entries: z.output<typeof HistoryEntry>[] = [];
  let state = Agent.initial;
  for await (const event of ctx.history(Agent, agent_id)) {
    const before = visible(state);
    state = Agent.evolve(state, event);
    const { event_id, type, at, actor, meta, revision } = event;
    const changes = changesBetween(before, visible(state)).filter(({ pointer }) => pointer !== '/updated_at');
    entries.push({ event_id, type, at, actor, cause: meta.$causationId ?? null, position: tokenOf(event.position), revision, changes });
  }
  if (entries.length === 0) throw absent();
  return entries;
};

const stateAt = async (ctx: Ctx, agent_id: string, until: Position): Promise<Fields> => {
  let state = Agent.initial;
  for await (const event of ctx.history(Agent, agent_id)) {
    if (comparePositions(event.position, until) > 0) break;
    state = Agent.evolve(state, event);
  }
  return visible(state);
};

export const historyOperations = {
  readAgentHistory: operation({
    method: 'get',
    path: `${AGENT}/history`,
    summary: 'Every event of the agent with the fields it changed',
    permit: 'agent:read',
    query: listQuery({}).omit({ sort: true }),
    reply: z.array(HistoryEntry),
    run: async (ctx, { agent_id, limit, cursor }) => {
      const entries = await history(ctx, agent_id);
      const { items, next } = pageOf(entries, newestFirst, { limit, cursor });
      const docs = items.map((entry) => JSON.stringify(entry));
      const held = fitting(docs);
      const behind = held < items.length ? writeCursor(newestFirst.placeOf(items[held - 1]!)) : next;
      const position = parseToken(entries[0]!.position);
      return { body: `[${docs.slice(0, held)}]`, next: behind, total: entries.length, position };
    },
  }),
  diffAgent: operation({
    method: 'get',
    path: `${AGENT}/diff`,
    summary: 'What changed between two times or positions',
    permit: 'agent:read',
    query: z.strictObject({ from: z.string().max(64), to: z.string().max(64).optional() }),
    reply: ResourceDiff,
    reads: AS_OF_RESTS,
    noStream: true,
    run: async (ctx, { agent_id, from, to }) => {
      const loaded = await ctx.load(Agent, agent_id);
      if (!loaded.position) throw absent();
      const first = await positionOf(ctx, from, 'from');
      const last = to === undefined ? loaded.position : await positionOf(ctx, to, 'to');
      const [before, after] = await Promise.all([stateAt(ctx, agent_id, first), stateAt(ctx, agent_id, last)]);
      const state = { id: agent_id, from: tokenOf(first), to: tokenOf(last), changes: changesBetween(before, after) };
      // A time names another position as the tenant goes on: the agent's revision would not tell.
      return { ...loaded, revision: -1, state };
    },
  }),
};
