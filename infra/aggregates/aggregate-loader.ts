import type { Loaded } from '../../commands/context.ts';
import type { AnyAggregate } from '../../domain/aggregate.ts';

type Read = (aggregate: AnyAggregate, stream: string, id: string) => Promise<Loaded<unknown>>;
/**
 * `revision` is that of the last event of the stream that the subscription has delivered since loading the stream
 * began; -1 if it has delivered none.
 */
type Delivered = { revision: number };
type RunningLoad = { readonly delivered: Delivered; readonly result: Promise<Loaded<unknown>> };

/**
 * Creates a loader of aggregate states. It repeats the read of a stream until the result includes every event that the
 * subscription has delivered since the load began.
 */
export const createAggregateLoader = (read: Read) => {
  const running = new Map<string, RunningLoad>();

  const readUntilCurrent = async (aggregate: AnyAggregate, stream: string, id: string, delivered: Delivered): ReturnType<Read> => {
    for (;;) {
      const loaded = await read(aggregate, stream, id);
      if (delivered.revision <= loaded.revision) return loaded;
    }
  };

  const start: Read = (aggregate, stream, id) => {
    const delivered = { revision: -1 };
    const result = readUntilCurrent(aggregate, stream, id, delivered).finally(() => {
      if (running.get(stream)?.result === result) running.delete(stream);
    });
    running.set(stream, { delivered, result });
    return result;
  };

  /** If the stream is already being loaded, returns the result of that load; otherwise starts to load it. */
  const join: Read = (aggregate, stream, id) => running.get(stream)?.result ?? start(aggregate, stream, id);

  const onEvent = (stream: string, revision: number): void => {
    const load = running.get(stream);
    if (load) load.delivered.revision = Math.max(load.delivered.revision, revision);
  };

  return { start, join, onEvent };
};
