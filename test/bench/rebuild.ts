import { rmSync } from 'node:fs';
import pg from 'pg';
import { pino } from 'pino';
import { type Recorded, tokenOf } from '../../domain/event.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log, NewEvent } from '../../infra/eventstore/event-log.ts';
import { requestMaintenance, requestState } from '../../infra/projector/maintenance-requests.ts';
import { startProjections } from '../../infra/projector/projector.ts';
import { createReads } from '../../infra/readmodel/postgres-read-model.ts';
import { startServices } from '../fixtures/start-services.ts';
import { eventId, ideasOf } from '../fixtures/test-projection.ts';

export type RebuildFigures = {
  readonly events: number;
  /**
   * Speeds in events per second. `catchUp` is the speed of a client that only reads the events. `rebuild` is the speed
   * of a rebuild, from its start to its promotion.
   */
  readonly catchUp: number;
  readonly rebuild: number;
  readonly ratio: number;
  /**
   * The processor time of this process per event, in microseconds. Unlike the speeds, it hardly depends on other load
   * on the machine.
   */
  readonly cpuUs: { readonly catchUp: number; readonly rebuild: number };
  readonly memoryMb: { readonly start: number; readonly max: number };
};

const STREAMS_PER_EVENT = 1 / 50;
const EVENTS_PER_APPEND = 250;
const CONCURRENCY = 8;
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

/**
 * Fills the log with streams of fifty events each. Writes the first half of every stream, and then the second half, so
 * that the events of different streams are interleaved.
 */
const fillLog = async (log: Log, category: string, events: number): Promise<void> => {
  const streams = Math.max(1, Math.round(events * STREAMS_PER_EVENT));
  const perRound = Math.ceil(events / streams / 2);
  for (let round = 0; round < 2; round++) {
    let next = 0;
    const one = async () => {
      for (let n = next++; n < streams; n = next++) {
        const from = round * perRound;
        for (let at = from; at < from + perRound; at += EVENTS_PER_APPEND) {
          const part = Array.from({ length: Math.min(EVENTS_PER_APPEND, from + perRound - at) }, (_, k) =>
            newEvent(category, `i${n}`, at + k),
          );
          await log.append(`${category}-t.i${n}`, at === 0 ? 'none' : at - 1, part, { deadline: 60_000 });
        }
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, one));
  }
};

const perSecond = (events: number, ms: number): number => Math.round((events * 1_000) / ms);

type Pace = { readonly perSecond: number; readonly cpuUs: number };

const startPace = (events: number): (() => Pace) => {
  const started = performance.now();
  const cpu = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    return { perSecond: perSecond(events, performance.now() - started), cpuUs: Math.round(((user + system) * 10) / events) / 10 };
  };
};

const medianPace = (paces: readonly Pace[]): Pace => paces.toSorted((a, b) => a.perSecond - b.perSecond)[paces.length >> 1]!;

/** Measures the speed of the client without a projection: a subscription to one category receives all its events. */
const bareCatchUp = (log: Log, category: string, events: number): Promise<Pace> =>
  new Promise((resolve, reject) => {
    const endPace = startPace(events);
    let seen = 0;
    const subscription = log.follow({
      filter: { streamPrefixes: [`${category}-`] },
      event: () => {
        if (++seen === events) void subscription.stop().then(() => resolve(endPace()));
      },
    });
    void subscription.failure.then((error) => error && reject(error));
  });

const lastEvent = async (log: Log): Promise<Recorded | null> => {
  for await (const event of log.readAll({ backwards: true, limit: 1 })) return event;
  return null;
};

/**
 * Compares the speed of a rebuild of `events` events with the speed of the client without a projection. Both run in
 * this process. Starts the event store and the database that it needs.
 */
export const rebuildBench = async (events = 1_000_000): Promise<RebuildFigures> => {
  const { services, supervised, dir } = await startServices();
  const log = openLog(services.eventstoreUrl);
  const category = 'bench';
  await fillLog(log, category, events);
  const catchUps: Pace[] = [];
  catchUps.push(await bareCatchUp(log, category, events));
  const worker = await startProjections({ log, databaseUrl: services.databaseUrl, projections: [ideasOf(category)], logger });
  const reads = await createReads(services.databaseUrl, logger);
  const db = new pg.Pool({ connectionString: services.databaseUrl, max: 1 });
  const last = await lastEvent(log);
  const start = process.memoryUsage.rss();
  let max = start;
  const timer = setInterval(() => {
    max = Math.max(max, process.memoryUsage.rss());
  }, 100);
  await reads.passed('ideas', tokenOf(last!.position), 3_600_000);
  const rebuilds: Pace[] = [];
  for (let run = 0; run < 2; run++) {
    const endPace = startPace(events);
    const id = await requestMaintenance(db, 'rebuild', 'ideas');
    while (!(await requestState(db, id))?.done_at) await new Promise((resolve) => setTimeout(resolve, 50));
    rebuilds.push(endPace());
    catchUps.push(await bareCatchUp(log, category, events));
  }
  clearInterval(timer);
  await reads.close();
  await worker.close();
  await db.end();
  await log.close();
  for (const each of supervised) await each.stop();
  rmSync(dir, { recursive: true, force: true });
  const [catchUp, rebuild] = [medianPace(catchUps), medianPace(rebuilds)];
  const mb = (bytes: number) => Math.round(bytes / 1_048_576);
  return {
    events,
    catchUp: catchUp.perSecond,
    rebuild: rebuild.perSecond,
    ratio: Math.round((rebuild.perSecond / catchUp.perSecond) * 100) / 100,
    cpuUs: { catchUp: catchUp.cpuUs, rebuild: rebuild.cpuUs },
    memoryMb: { start: mb(start), max: mb(max) },
  };
};

if (import.meta.main) console.table([await rebuildBench(Number(process.argv[2] ?? 1_000_000))]);
