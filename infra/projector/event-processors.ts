import type pg from 'pg';
import type { Logger } from 'pino';
import { comparePositions, type Position, type Recorded, tokenOf } from '../../domain/event.ts';
import type { Filter, Log } from '../eventstore/event-log.ts';
import { type EventProcessor, startEventProcessor, withoutBytes } from './event-processor.ts';
import type { ProjectionWriter } from './projection-writer.ts';
import { writeBatch, writeCheckpoints } from './write-batch.ts';

const BRIDGE_BATCH = 4_096;

/** The lanes of a process: those that lag read on their own, those at the live end share one subscription. */
export type EventProcessors = {
  readonly all: () => readonly EventProcessor[];
  readonly live: () => EventProcessor | null;
  readonly laneOf: (name: string) => EventProcessor | null;
  /** Members that stand at one position read together from there. */
  readonly start: (members: readonly ProjectionWriter[]) => void;
  /** Takes members out between two batches. */
  readonly take: (names: ReadonlySet<string>) => Promise<void>;
  readonly stop: () => Promise<void>;
};

type Options = {
  readonly log: Log;
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly broken: (error: Error, names: readonly string[]) => void;
};

const filterOf = (members: readonly ProjectionWriter[]): Filter | undefined => {
  const categories = members.map(({ plan }) => plan.projection.categories);
  if (categories.includes('*')) return undefined;
  return { streamPrefixes: [...new Set(categories.flat())].map((category) => `${category}-`) };
};

/** Every event behind `from` up to `to`, in parts. */
const readUntil = (log: Log, from: Position | null, to: Position, part: (events: readonly Recorded[]) => Promise<void>): Promise<void> =>
  new Promise((resolve, reject) => {
    let events: Recorded[] = [];
    let over = false;
    const flush = () => {
      const taken = events;
      events = [];
      return part(taken);
    };
    const end = () => {
      if (over) return;
      over = true;
      void subscription.stop().then(flush).then(resolve, reject);
    };
    const subscription = log.follow({
      from: from ?? undefined,
      event: (event) => {
        if (over) return;
        const order = comparePositions(event.position, to);
        if (order <= 0) events.push(withoutBytes(event));
        if (order >= 0) return end();
        return events.length < BRIDGE_BATCH ? undefined : flush();
      },
      checkpoint: (position) => (comparePositions(position, to) >= 0 ? end() : undefined),
      caughtUp: end,
    });
    void subscription.failure.then((error) => error && reject(error));
  });

const catchUpTo = async (
  log: Log,
  db: pg.PoolClient,
  members: readonly ProjectionWriter[],
  from: Position | null,
  to: Position | null,
): Promise<void> => {
  if (!to || (from && comparePositions(from, to) >= 0)) return;
  await readUntil(log, from, to, async (events) => {
    const last = events.at(-1);
    if (last) await writeBatch(members, db, { events, to: last.position });
  });
  await writeBatch(members, db, { events: [], to });
  await writeCheckpoints(members, db);
};

const without = async (members: readonly ProjectionWriter[], names: ReadonlySet<string>) => {
  for (const member of members) if (names.has(member.name)) member.close();
  return { members: members.filter(({ name }) => !names.has(name)), result: null };
};

export const openLanes = ({ log, pool, logger, broken }: Options): EventProcessors => {
  const lanes = new Set<EventProcessor>();
  let live: EventProcessor | null = null;
  let joining: Promise<unknown> = Promise.resolve();

  const open = (members: readonly ProjectionWriter[], from: Position | null, shared: boolean): EventProcessor => {
    const lane = startEventProcessor({
      log,
      pool,
      logger,
      members,
      from,
      filter: shared ? undefined : filterOf(members),
      caughtUp: () => {
        if (lane !== live) joining = joining.then(() => join(lane)).catch((error: Error) => logger.error({ error }, 'joining failed'));
      },
      broken: (error, lost) => {
        lanes.delete(lane);
        if (lane === live) live = null;
        for (const member of lost) member.close();
        broken(
          error,
          lost.map(({ name }) => name),
        );
      },
    });
    lanes.add(lane);
    return lane;
  };

  const mergeInto = async (target: EventProcessor, lane: EventProcessor): Promise<void> => {
    const members = lane.members();
    try {
      await target.between(async (held, db) => {
        await catchUpTo(log, db, members, lane.position(), target.position());
        return { members: [...held, ...members], result: null };
      });
    } catch (error) {
      for (const member of members) member.close();
      broken(
        error as Error,
        members.map(({ name }) => name),
      );
    }
  };

  /** A lane that has caught up hands its members to the live one, or becomes it. It is known until they are there. */
  const join = async (lane: EventProcessor): Promise<void> => {
    if (!lanes.has(lane)) return;
    await lane.stop();
    if (lane.failed()) return;
    if (live) await mergeInto(live, lane);
    else if (lane.members().length > 0) live = open(lane.members(), lane.position(), true);
    lanes.delete(lane);
  };

  const close = async (lane: EventProcessor): Promise<void> => {
    lanes.delete(lane);
    if (lane === live) live = null;
    await lane.stop();
    for (const member of lane.members()) member.close();
  };

  return {
    all: () => [...lanes],
    live: () => live,
    laneOf: (name) => [...lanes].find((lane) => lane.members().some((member) => member.name === name)) ?? null,
    start: (members) => {
      for (const together of Map.groupBy(members, (member) => (member.position() ? tokenOf(member.position()!) : '')).values())
        open(together, together[0]!.position(), false);
    },
    take: async (names) => {
      await joining;
      for (const lane of [...lanes]) {
        if (!lane.members().some(({ name }) => names.has(name))) continue;
        await lane.between((held) => without(held, names)).catch(() => {});
        if (lane.members().length === 0) await close(lane);
      }
    },
    stop: async () => {
      await Promise.all([...lanes].map(close));
      await joining;
      await Promise.all([...lanes].map(close));
    },
  };
};
