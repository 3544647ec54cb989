import type pg from 'pg';
import type { Logger } from 'pino';
import { type Position, tokenOf } from '../../domain/event.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Filter, Log } from '../eventstore/event-log.ts';
import { catchUpTo } from './catch-up.ts';
import type { ErasedTenants } from './erased-tenants.ts';
import { type EventProcessor, startEventProcessor } from './event-processor.ts';
import type { ProjectionWriter } from './projection-writer.ts';

/**
 * The event processors of this process. All projections that have caught up with the log share one of them, the live
 * processor. Projections that lag are grouped by position, and each group has its own processor until it has
 * caught up.
 */
export type EventProcessors = {
  readonly live: () => EventProcessor | null;
  readonly processorOf: (name: string) => EventProcessor | null;
  /** Starts event processors for these writers. Writers at the same position share one. */
  readonly start: (writers: readonly ProjectionWriter[]) => void;
  /** Removes the writers with these names from their processors, between two batches, and closes them. */
  readonly remove: (names: ReadonlySet<string>) => Promise<void>;
  readonly stop: () => Promise<void>;
};

type Options = {
  readonly log: Log;
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly erased: Pick<ErasedTenants, 'note'>;
  /** Called with the names of the writers whose processor has failed. The caller must open their projections again. */
  readonly onFailure: (error: Error, names: readonly string[]) => void;
};

type State = {
  readonly options: Options;
  readonly processors: Set<EventProcessor>;
  live: EventProcessor | null;
  /**
   * Settles when all processors that have caught up so far have been merged into the live processor. They are merged
   * one after another.
   */
  joining: Promise<unknown>;
};

const namesOf = (writers: readonly ProjectionWriter[]): string[] => writers.map(({ name }) => name);

const closeAll = (writers: readonly ProjectionWriter[]): void => {
  for (const writer of writers) writer.close();
};

const filterOf = (writers: readonly ProjectionWriter[]): Filter | undefined => {
  const categories = writers.map(({ compiled }) => compiled.projection.categories);
  if (categories.includes('*')) return undefined;
  // Events of the category `tenant` are always read, because they record which tenants are erased.
  return { streamPrefixes: [...new Set([...categories.flat(), Tenant.category])].map((category) => `${category}-`) };
};

const open = (state: State, writers: readonly ProjectionWriter[], from: Position | null, filter: Filter | undefined): EventProcessor => {
  const { log, pool, logger, erased, onFailure } = state.options;
  const processor = startEventProcessor({
    log,
    pool,
    logger,
    writers,
    from,
    filter,
    erased,
    onCaughtUp: () => {
      if (processor === state.live) return;
      state.joining = state.joining
        .then(() => join(state, processor))
        .catch((error: Error) => logger.error({ error }, 'projections that have caught up could not join the live ones'));
    },
    onFailure: (error, lost) => {
      state.processors.delete(processor);
      if (processor === state.live) state.live = null;
      closeAll(lost);
      onFailure(error, namesOf(lost));
    },
  });
  state.processors.add(processor);
  return processor;
};

/** Hands the writers of a stopped processor over to another processor. */
const mergeInto = async ({ options }: State, target: EventProcessor, stopped: EventProcessor): Promise<void> => {
  const writers = stopped.writers();
  try {
    await target.betweenBatches(async (others, db) => {
      await catchUpTo(options.log, db, writers, { from: stopped.position(), to: target.position() });
      return { writers: [...others, ...writers], result: null };
    });
  } catch (error) {
    closeAll(writers);
    options.onFailure(error as Error, namesOf(writers));
  }
};

/**
 * Called when a processor has caught up with the log. It is stopped, and its writers go to the live processor; if there
 * is none, one is opened for them. In the meantime, the stopped processor stays in `processors`, so that `processorOf`
 * still finds its writers.
 */
const join = async (state: State, processor: EventProcessor): Promise<void> => {
  if (!state.processors.has(processor)) return;
  await processor.stop();
  if (processor.hasFailed()) return;
  if (state.live) await mergeInto(state, state.live, processor);
  else if (processor.writers().length > 0) state.live = open(state, processor.writers(), processor.position(), undefined);
  state.processors.delete(processor);
};

const close = async (state: State, processor: EventProcessor): Promise<void> => {
  state.processors.delete(processor);
  if (processor === state.live) state.live = null;
  await processor.stop();
  closeAll(processor.writers());
};

const removeFrom = (processor: EventProcessor, names: ReadonlySet<string>): Promise<null> =>
  processor.betweenBatches(async (writers) => {
    closeAll(writers.filter(({ name }) => names.has(name)));
    return { writers: writers.filter(({ name }) => !names.has(name)), result: null };
  });

const remove = async (state: State, names: ReadonlySet<string>): Promise<void> => {
  await state.joining;
  for (const processor of [...state.processors]) {
    if (!processor.writers().some(({ name }) => names.has(name))) continue;
    await removeFrom(processor, names).catch(() => {});
    if (processor.writers().length === 0) await close(state, processor);
  }
};

const start = (state: State, writers: readonly ProjectionWriter[]): void => {
  const byPosition = Map.groupBy(writers, (writer) => (writer.position() ? tokenOf(writer.position()!) : ''));
  for (const group of byPosition.values()) open(state, group, group[0]!.position(), filterOf(group));
};

const stop = async (state: State): Promise<void> => {
  const closeEach = () => Promise.all([...state.processors].map((processor) => close(state, processor)));
  await closeEach();
  await state.joining;
  await closeEach();
};

export const openEventProcessors = (options: Options): EventProcessors => {
  const state: State = { options, processors: new Set(), live: null, joining: Promise.resolve() };
  return {
    live: () => state.live,
    processorOf: (name) => [...state.processors].find((processor) => processor.writers().some((writer) => writer.name === name)) ?? null,
    start: (writers) => start(state, writers),
    remove: (names) => remove(state, names),
    stop: () => stop(state),
  };
};
