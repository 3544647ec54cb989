import { rmSync } from 'node:fs';
import pg from 'pg';
import { pino } from 'pino';
import { type Recorded, tokenOf } from '../../domain/event.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log, NewEvent } from '../../infra/eventstore/event-log.ts';
import { requestMaintenance, requestState } from '../../infra/projector/maintenance-requests.ts';
import { startProjections } from '../../infra/projector/projector.ts';
import { createReads } from '../../infra/readmodel/postgres-read-model.ts';
import { eventId, ideasOf } from '../fixtures/test-projection.ts';
import { startServices } from '../fixtures/test-services.ts';

export type RebuildFigures = {
  readonly events: number;
  /** Events a second: the client alone reading all of them, and a rebuild from zero to its promotion. */
  readonly catchUp: number;
  readonly rebuild: number;
  readonly ratio: number;
  /** Microseconds of this process' processor time an event, which other work on the machine does not touch. */
  readonly cpuUs: { readonly catchUp: number; readonly rebuild: number };
  readonly memoryMb: { readonly start: number; readonly most: number };
};

const STREAMS_PER_EVENT = 1 / 50;
const PER_APPEND = 250;
const IN_FLIGHT = 8;
const logger = pino({ level: 'warn' }, pino.destination(2));

const newEvent = (category: string, id: string, revision: number): NewEvent => ({
  id: eventId(`${category}-${id}`, revision),
  type: revision === 0 ? 'IdeaNoted' : revision % 3 === 0 ? 'IdeaLinked' : 'IdeaRenamed',
  data:
    revision % 3 === 0 && revision > 0
      ? { to: id }
      : { title: `What idea ${id} is called since its event ${revision}`, extra: { revision, tags: ['one', 'two'] } },
  meta: {
    tenant: 't',
    actor: { kind: 'user', id: 'cabcdefghijklmnopqrstuvwx', key_id: null },
    at: new Date(Date.UTC(2026, 0, 1) + revision).toISOString(),
    v: 1,
  },
});

/** Fills the log with streams of fifty events, in rounds over all of them as many users would. */
const fill = async (log: Log, category: string, events: number): Promise<void> => {
  const streams = Math.max(1, Math.round(events * STREAMS_PER_EVENT));
  const perRound = Math.ceil(events / streams / 2);
  for (let round = 0; round < 2; round++) {
    let next = 0;
    const one = async () => {
      for (let n = next++; n < streams; n = next++) {
        const from = round * perRound;
        for (let at = from; at < from + perRound; at += PER_APPEND) {
          const part = Array.from({ length: Math.min(PER_APPEND, from + perRound - at) }, (_, k) => newEvent(category, `i${n}`, at + k));
          await log.append(`${category}-t.i${n}`, at === 0 ? 'none' : at - 1, part, { deadline: 60_000 });
        }
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, one));
  }
};

const perSecond = (events: number, ms: number): number => Math.round((events * 1_000) / ms);

type Pace = { readonly perSecond: number; readonly cpuUs: number };

const pace = (events: number): (() => Pace) => {
  const started = performance.now();
  const cpu = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    return { perSecond: perSecond(events, performance.now() - started), cpuUs: Math.round(((user + system) * 10) / events) / 10 };
  };
};

const median = (paces: readonly Pace[]): Pace => paces.toSorted((a, b) => a.perSecond - b.perSecond)[paces.length >> 1]!;

/** The client's own catch-up of one category, with nothing behind it. */
const bareCatchUp = (log: Log, category: string, events: number): Promise<Pace> =>
  new Promise((resolve, reject) => {
    const over = pace(events);
    let seen = 0;
    const subscription = log.follow({
      filter: { streamPrefixes: [`${category}-`] },
      event: () => {
        if (++seen === events) void subscription.stop().then(() => resolve(over()));
      },
    });
    void subscription.failure.then((error) => error && reject(error));
  });

const lastOf = async (log: Log): Promise<Recorded | null> => {
  for await (const event of log.readAll({ backwards: true, limit: 1 })) return event;
  return null;
};

/** Measures a rebuild of `events` events beside the bare catch-up of the same process, on services of its own. */
export const rebuildBench = async (events = 1_000_000): Promise<RebuildFigures> => {
  const { services, supervised, dir } = await startServices();
  const log = openLog(services.eventstoreUrl);
  const category = 'bench';
  await fill(log, category, events);
  const catchUps: Pace[] = [];
  catchUps.push(await bareCatchUp(log, category, events));
  const worker = await startProjections({ log, databaseUrl: services.databaseUrl, projections: [ideasOf(category)], logger });
  const reads = await createReads(services.databaseUrl, logger);
  const db = new pg.Pool({ connectionString: services.databaseUrl, max: 1 });
  const last = await lastOf(log);
  const start = process.memoryUsage.rss();
  let most = start;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 100);
  await reads.passed('ideas', tokenOf(last!.position), 3_600_000);
  const rebuilds: Pace[] = [];
  for (let run = 0; run < 2; run++) {
    const over = pace(events);
    const id = await requestMaintenance(db, 'rebuild', 'ideas');
    while (!(await requestState(db, id))?.done_at) await new Promise((resolve) => setTimeout(resolve, 50));
    rebuilds.push(over());
    catchUps.push(await bareCatchUp(log, category, events));
  }
  clearInterval(timer);
  await reads.close();
  await worker.close();
  await db.end();
  await log.close();
  for (const each of supervised) await each.stop();
  rmSync(dir, { recursive: true, force: true });
  const [catchUp, rebuild] = [median(catchUps), median(rebuilds)];
  const mb = (bytes: number) => Math.round(bytes / 1_048_576);
  return {
    events,
    catchUp: catchUp.perSecond,
    rebuild: rebuild.perSecond,
    ratio: Math.round((rebuild.perSecond / catchUp.perSecond) * 100) / 100,
    cpuUs: { catchUp: catchUp.cpuUs, rebuild: rebuild.cpuUs },
    memoryMb: { start: mb(start), most: mb(most) },
  };
};

if (import.meta.main) console.table([await rebuildBench(Number(process.argv[2] ?? 1_000_000))]);
