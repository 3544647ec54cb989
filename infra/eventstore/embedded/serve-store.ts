import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { makeDirectory } from '../../durable-files.ts';
import { lockFile } from '../../process-lock.ts';
import { removeAddressFile, SCAVENGE, textMethod, writeAddressFile } from './admin-rpc.ts';
import { appendMethod, batchAppendMethod, removeMethod } from './append-handlers.ts';
import { isDamage, reportDamage } from './corruption.ts';
import { type Call, grpcServer, type Methods, type Receiver, unary } from './grpc.ts';
import { dataLoss, type Status, unavailable, unknown } from './grpc-status.ts';
import { type Parts, type Reading, readAll, readStream } from './read-handlers.ts';
import { readRequestOf } from './read-request.ts';
import { createResponseWriter } from './response-writer.ts';
import { describeScavenged } from './scavenge-store.ts';
import { scavenge } from './scavenger.ts';
import { admission, secretOf } from './secret.ts';
import { FEATURES, featuresMethod, GOSSIP, gossipMethod } from './server-info-handlers.ts';
import { openStore, type Store } from './store.ts';
import { followAll, followStream } from './subscription-handlers.ts';

const HANDLER_FAILED = unknown('Exception was thrown by handler.');

const answerRead = async (parts: Parts, call: Call, message: Buffer): Promise<Status | undefined> => {
  const request = readRequestOf(message);
  const response = createResponseWriter(call, parts, request);
  const reading: Reading = { call, request, response };
  const { source } = request;
  const stream = request.subscription ? followStream : readStream;
  const all = request.subscription ? followAll : readAll;
  try {
    return await (source.kind === 'stream' ? stream(parts, reading, source) : all(parts, reading, source));
  } finally {
    // What lies before something harmed can be had.
    response.flush();
  }
};

/** Streams.Read: reading and subscribing are one call. */
const readMethod =
  (parts: Parts) =>
  (call: Call): Receiver =>
    unary(call, (bytes) => {
      answerRead(parts, call, bytes).then(
        (status) => call.end(status),
        (error) => {
          if (isDamage(error)) {
            reportDamage(error);
            return call.end(dataLoss(error.message));
          }
          if (!(error instanceof SyntaxError)) process.stderr.write(`store: a read failed: ${error}\n`);
          call.end(HANDLER_FAILED);
        },
      );
    });

/** One at a time: who comes meanwhile gets the answer of the one under way. */
const alone = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
};

const STREAMS = '/event_store.client.streams.Streams';

const methodsOf = (store: Store, host: string, port: () => number): Methods => ({
  [`${STREAMS}/Append`]: appendMethod(store.writer),
  [`${STREAMS}/BatchAppend`]: batchAppendMethod(store.writer),
  [`${STREAMS}/Read`]: readMethod(store),
  [`${STREAMS}/Delete`]: removeMethod(store.writer, 'delete'),
  [`${STREAMS}/Tombstone`]: removeMethod(store.writer, 'tombstone'),
  [FEATURES]: featuresMethod,
  [GOSSIP]: gossipMethod(host, port),
  [SCAVENGE]: textMethod(alone(async () => describeScavenged(await scavenge(store)))),
});

const stopProcess = (error: unknown): never => {
  process.stderr.write(`store: stopped, because what is on the disk is not certain any more: ${error}\n`);
  process.exit(70);
};

export type ServeOptions = {
  dir: string;
  /** 0: from the system. */
  port: number;
  /** Everybody on this machine may call it, without the secret. */
  open: boolean;
  host?: string;
};

/** Serves the store in a directory on the loopback. @throws where the directory is served already, its log is damaged, or the port is taken */
export const serveStore = async ({
  dir,
  port,
  open,
  host = '127.0.0.1',
}: ServeOptions): Promise<{ port: number; close: () => Promise<void> }> => {
  makeDirectory(dir);
  const lock = lockFile(join(dir, 'lock'));
  if (!lock) throw new Error(`${dir} is served by another process`);
  const secret = secretOf(dir);
  const store = openStore(dir, stopProcess);
  let bound = port;
  const { server, close } = grpcServer(
    methodsOf(store, host, () => bound),
    open ? () => undefined : admission(secret),
  );
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  bound = (server.address() as AddressInfo).port;
  writeAddressFile(dir, `${host}:${bound}`);
  if (store.truncatedBytes > 0) process.stdout.write(`store: cut off ${store.truncatedBytes} bytes that a crash had left unfinished\n`);
  const access = open ? 'open to every user of it' : 'closed to its other users';
  process.stdout.write(
    `store ready esdb://${host}:${bound}?tls=false (one node, for this machine only, ${access}; a cluster is one URL away)\n`,
  );
  return {
    port: bound,
    close: async () => {
      await close(unavailable('the store is shutting down'));
      await store.close();
      removeAddressFile(dir);
      lock.release();
    },
  };
};
