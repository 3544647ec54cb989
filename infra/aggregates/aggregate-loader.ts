import type { Loaded } from '../../commands/context.ts';
import type { AnyAggregate } from '../../domain/aggregate.ts';

type Read = (aggregate: AnyAggregate, stream: string, id: string) => Promise<Loaded<unknown>>;
/** The revision of the stream's last event that the subscription has delivered since the load began; -1 if none. */
type Delivered = { revision: number };
type RunningLoad = { readonly delivered: Delivered; readonly result: Promise<Loaded<unknown>> };

/** Reads a stream again until the result includes every event that the subscription has delivered since the load began. */
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

  const join: Read = (aggregate, stream, id) => running.get(stream)?.result ?? start(aggregate, stream, id);

  const onEvent = (stream: string, revision: number): void => {
    const load = running.get(stream);
    if (load) load.delivered.revision = Math.max(load.delivered.revision, revision);
  };

  return { start, join, onEvent };
};
