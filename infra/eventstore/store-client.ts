import type { Duplex } from 'node:stream';
import { EventStoreDBClient } from '@eventstore/db-client';
import { openOnce } from '../open-once.ts';
import { isLeaderWanted, toClientUrl } from './store-url.ts';

type ServerFeatures = { readonly supports: (method: unknown, feature?: string) => boolean | Promise<boolean> };
type Action<T> = (grpcClient: unknown) => Promise<T>;

/** The client's own code calls these members through `this`. */
type Internals = {
  callArguments: (options: object, callOptions?: object) => unknown;
  handleError: (grpcClient: unknown, error: Error) => Promise<void>;
  execute: <T>(type: unknown, name: string, action: Action<T>) => Promise<T>;
  GRPCStreamCreator: (type: unknown, name: string, create: (grpcClient: unknown) => Duplex, cache?: WeakMap<object, unknown>) => unknown;
};

const FEATURES_CALL = 'getSupportedMethods';
const BATCH_APPEND_CALL = 'appendToStream';

/**
 * The client calls `handleError` without waiting for it. If a second call fails while the client searches for another
 * node, and it finds none, the unhandled rejection would end the process. The failed calls get the error anyway.
 */
const catchHandlerErrors = (internals: Internals): void => {
  const { handleError } = internals;
  internals.handleError = (grpcClient, error) => handleError(grpcClient, error).catch(() => {});
};

/**
 * The client requests the server's features once and keeps the promise, even if it was rejected. Every append waits for
 * it, so no append would ever succeed again. Here it keeps an object that asks again after a failure.
 */
const askForFeaturesAgain = (internals: Internals): void => {
  const { execute } = internals;
  internals.execute = async <T>(type: unknown, name: string, action: Action<T>) => {
    if (name !== FEATURES_CALL) return execute(type, name, action);
    const features = openOnce(() => execute(type, name, action as Action<ServerFeatures>));
    const supports: ServerFeatures['supports'] = async (...request) => (await features()).supports(...request);
    return { supports } as T;
  };
};

/**
 * Ignores an answer that the client cannot assign to an append. When any stream of appends fails, the client rejects the appends of all its
 * streams; the answers that still arrive on the others would break those streams forever.
 */
const ignoreLateAnswers = (stream: Duplex): void => {
  const [onAnswer] = stream.listeners('data') as ((answer: unknown) => void)[];
  if (!onAnswer) return;
  stream.removeListener('data', onAnswer as () => void);
  stream.on('data', (answer: unknown) => {
    try {
      onAnswer(answer);
    } catch {
      // An append that gets no answer fails at its deadline, and is repeated.
    }
  });
};

/**
 * Lets every write to the stream count as sent. The client queues the writes that wait for a slow server; if the stream
 * then failed, each of them would cause an unhandled rejection. The data of these appends is in memory anyway.
 */
const neverQueueWrites = (stream: Duplex): void => {
  const write = stream.write.bind(stream) as (message: unknown) => boolean;
  stream.write = (message: unknown) => {
    write(message);
    return true;
  };
};

const guardBatchAppends = (internals: Internals): void => {
  const { GRPCStreamCreator } = internals;
  internals.GRPCStreamCreator = (type, name, create, cache) => {
    if (name !== BATCH_APPEND_CALL) return GRPCStreamCreator(type, name, create, cache);
    const createGuarded = (grpcClient: unknown): Duplex => {
      const stream = create(grpcClient);
      ignoreLateAnswers(stream);
      neverQueueWrites(stream);
      return stream;
    };
    return GRPCStreamCreator(type, name, createGuarded, cache);
  };
};

/**
 * While a cluster has no leader, the client connects to a follower, which may lack what this process has written and passes appends on to a
 * leader that may be gone. Asked for the leader, it answers with the leader's address, and the client connects to that.
 */
const requireLeader = (internals: Internals): void => {
  const { callArguments } = internals;
  internals.callArguments = (options, callOptions) => callArguments({ ...options, requiresLeader: true }, callOptions);
};

const connect = (url: string): EventStoreDBClient => {
  try {
    return EventStoreDBClient.connectionString(url);
  } catch (error) {
    throw new Error(`the event store's URL cannot be used: ${(error as Error).message.split('\n', 1)[0]}`);
  }
};

/**
 * The client is changed so that no failure ends the process, and none is kept: each later call tries again.
 * @throws Error if a file with certificates does not exist
 */
export const createStoreClient = (url: string): EventStoreDBClient => {
  const client = connect(toClientUrl(url));
  const internals = client as unknown as Internals;
  catchHandlerErrors(internals);
  askForFeaturesAgain(internals);
  guardBatchAppends(internals);
  if (isLeaderWanted(url)) requireLeader(internals);
  return client;
};
