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
import { annals, stopPrograms } from './platform.ts';

const EVENTS_EACH = 10;
const TENANTS = 20;
const AT_ONCE = 64;
const LOOK_MS = 20;

const idOf = (kind: string, number: number): string => `c${kind}${String(number).padStart(23, '0')}`;

const bornAs = (number: number) =>
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

const renamedTo = (name: string): Agent.AgentEvent => ({ type: 'AgentUpdated', data: { name } });

/** One agent's whole life: created once, renamed nine times. */
const lifeOf = (number: number, meta: Metadata): NewEvent[] =>
  [bornAs(number), ...Array.from({ length: EVENTS_EACH - 1 }, (_, each) => renamedTo(`Agent ${number} v${each + 2}`))].map((event) => ({
    ...event,
    id: randomUUID(),
    meta,
  }));

const metaOf = (tenant: string, at: string): Metadata => ({ tenant, actor: { kind: 'system', id: 'bench' }, at, v: 1 });

/** Agents are counted by tenant: there is nothing to count on before that is there. */
const writeTenants = async (log: Log, at: string): Promise<void> => {
  for (let number = 0; number < TENANTS; number++) {
    const [id, slug] = [idOf('t', number), `tenant-${number}`];
    const fields = { name: `Tenant ${number}`, slug, plan_id: idOf('p', 0), billing_email: null, generation: 0 };
    const [born] = Tenant.create(fields, idOf('u', number))(Tenant.initial);
    await log.append(streamName(Tenant.category, id, id), 'none', [{ ...born!, id: randomUUID(), meta: metaOf(id, at) }]);
  }
};

/** @returns where the last event lies */
const write = async (log: Log, count: number): Promise<Position> => {
  const at = new Date().toISOString();
  await writeTenants(log, at);
  let last: Position = { commit: 0n, prepare: 0n };
  let next = 0;
  const work = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) {
      const tenant = idOf('t', number % TENANTS);
      const stream = streamName(Agent.category, tenant, idOf('a', number));
      const { position } = await log.append(stream, 'none', lifeOf(number, metaOf(tenant, at)));
      if (comparePositions(position, last) > 0) last = position;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return last;
};

const rowsIn = async (databaseUrl: string): Promise<number> => {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ count: number }>('select count(*)::integer as count from agents.agents');
  await client.end();
  return rows[0]!.count;
};

const events = Number(process.env.BENCH_EVENTS ?? 1_000_000);
const databaseUrl = process.env.DATABASE_URL;

/** Reads the whole log into an empty database by the worker that the platform runs. */
const rebuild = async (log: Log, database: string, end: Position): Promise<number> => {
  const began = performance.now();
  const logger = pino({ level: 'warn' }, pino.destination(2));
  const kept = await startProjections({ log, databaseUrl: database, projections: [agents], logger });
  const there = (): boolean => {
    const position = parseToken(kept.status()[0]?.position ?? '');
    return position !== null && comparePositions(position, end) >= 0;
  };
  while (!there()) await sleep(LOOK_MS);
  const seconds = (performance.now() - began) / 1_000;
  await kept.close();
  return seconds;
};

const measure = async (database: string): Promise<object> => {
  const { dir, clear } = createTempDirectory();
  const port = await freePort();
  const store = annals(['store', 'serve', '--dir', join(dir, 'store'), '--port', String(port), '--open']);
  await Promise.all([store.waitForOutput(/^store ready/m), emptyDatabase(database)]);
  const log = openLog(`esdb://127.0.0.1:${port}?tls=false`);
  const end = await write(log, events / EVENTS_EACH);
  const seconds = await rebuild(log, database, end);
  const rows = await rowsIn(database);
  if (rows !== events / EVENTS_EACH) throw new Error(`${rows} rows came of ${events} events`);
  await log.close();
  await store.stop();
  clear();
  return { events, rows, seconds: Number(seconds.toFixed(2)), per_s: Math.round(events / seconds) };
};

if (!databaseUrl) throw new Error('DATABASE_URL must name a database that may be emptied');
console.log(JSON.stringify(await measure(databaseUrl).finally(stopPrograms)));
