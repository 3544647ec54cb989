import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import * as Agent from '../../domain/agents/agent.ts';
import { comparePositions, type Metadata, type Position, parseToken, streamName } from '../../domain/event.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log, NewEvent } from '../../infra/eventstore/event-log.ts';
import { startProjections } from '../../infra/projector/projector.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { agents } from '../../projections/agents/agent.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { emptyDatabase } from './peer-prepare.ts';
import { startCommand, stopPrograms } from './platform.ts';

const EVENTS_PER_AGENT = 10;
const TENANTS = 20;
const CONCURRENCY = 64;
const POLL_DELAY_MS = 20;

const idOf = (kind: string, number: number): string => `c${kind}${String(number).padStart(23, '0')}`;

const agentCreated = (number: number) =>
  Agent.create({
    ...Agent.defaults,
    name: `Agent ${number}`,
    slug: `seed-${number}`,
    description: 'Answers pull requests and keeps the changelog current.',
    generation: 0,
    owner_id: null,
    skill_visibility_scope: 'private_only',
    is_seed: false,
  })()[0]!;

const agentRenamed = (name: string): Agent.AgentEvent => ({ type: 'AgentUpdated', data: { name } });

/** Returns the events of one agent, which is created and then renamed nine times. */
const agentEvents = (number: number, meta: Metadata): NewEvent[] =>
  [agentCreated(number), ...Array.from({ length: EVENTS_PER_AGENT - 1 }, (_, each) => agentRenamed(`Agent ${number} v${each + 2}`))].map(
    (event) => ({
      ...event,
      id: randomUUID(),
      meta,
    }),
  );

const metaOf = (tenant: string, at: string): Metadata => ({ tenant, actor: { kind: 'system', id: 'bench' }, at, v: 1 });

/**
 * Appends the events of the tenants. They must precede those of the agents, because the projection counts the agents of
 * each tenant.
 */
const writeTenants = async (log: Log, at: string): Promise<void> => {
  for (let number = 0; number < TENANTS; number++) {
    const [id, slug] = [idOf('t', number), `tenant-${number}`];
    const fields = { name: `Tenant ${number}`, slug, plan_id: idOf('p', 0), billing_email: null, generation: 0 };
    const [created] = Tenant.create(fields, idOf('u', number))(Tenant.initial);
    await log.append(streamName(Tenant.category, id, id), 'none', [{ ...created!, id: randomUUID(), meta: metaOf(id, at) }]);
  }
};

/** Appends the events of the tenants and of `count` agents. @returns the position of the last event */
const fillLog = async (log: Log, count: number): Promise<Position> => {
  const at = new Date().toISOString();
  await writeTenants(log, at);
  let last: Position = { commit: 0n, prepare: 0n };
  let next = 0;
  const work = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) {
      const tenant = idOf('t', number % TENANTS);
      const stream = streamName(Agent.category, tenant, idOf('a', number));
      const { position } = await log.append(stream, 'none', agentEvents(number, metaOf(tenant, at)));
      if (comparePositions(position, last) > 0) last = position;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return last;
};

const countRows = async (databaseUrl: string): Promise<number> => {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ count: number }>('select count(*)::integer as count from agents.agents');
  await client.end();
  return rows[0]!.count;
};

const events = Number(process.env.BENCH_EVENTS ?? 1_000_000);
const databaseUrl = process.env.DATABASE_URL;

/** Fills an empty database from the log with the platform's projector. @returns the duration in seconds */
const rebuild = async (log: Log, database: string, end: Position): Promise<number> => {
  const startedAt = performance.now();
  const logger = pino({ level: 'warn' }, pino.destination(2));
  const worker = await startProjections({ log, databaseUrl: database, projections: [agents], logger });
  const isCaughtUp = (): boolean => {
    const position = parseToken(worker.status()[0]?.position ?? '');
    return position !== null && comparePositions(position, end) >= 0;
  };
  while (!isCaughtUp()) await sleep(POLL_DELAY_MS);
  const seconds = (performance.now() - startedAt) / 1_000;
  await worker.close();
  return seconds;
};

const measure = async (database: string): Promise<object> => {
  const { dir, clear } = createTempDirectory();
  const port = await freePort();
  const store = startCommand(['store', 'serve', '--dir', join(dir, 'store'), '--port', String(port), '--open']);
  await Promise.all([store.waitForOutput(/^store ready/m), emptyDatabase(database)]);
  const log = openLog(`esdb://127.0.0.1:${port}?tls=false`);
  const end = await fillLog(log, events / EVENTS_PER_AGENT);
  const seconds = await rebuild(log, database, end);
  const rows = await countRows(database);
  if (rows !== events / EVENTS_PER_AGENT) throw new Error(`${events} events resulted in ${rows} rows`);
  await log.close();
  await store.stop();
  clear();
  return { events, rows, seconds: Number(seconds.toFixed(2)), per_s: Math.round(events / seconds) };
};

if (!databaseUrl) throw new Error('DATABASE_URL must name a database that may be emptied');
console.log(JSON.stringify(await measure(databaseUrl).finally(stopPrograms)));
