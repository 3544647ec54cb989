import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { counted } from '../../../../domain/counted.ts';
import { makeDirectory } from '../../../durable-files.ts';
import { printErrorLine, printLine } from '../../../logging/print-line.ts';
import { lockFile } from '../../../process-lock.ts';
import { removeAddressFile, SCAVENGE, textMethod, writeAddressFile } from '../admin-rpc.ts';
import { type Call, grpcServer, type Methods, type Receiver, unary } from '../grpc.ts';
import { dataLoss, handlerFailure, type Status, unavailable } from '../grpc-status.ts';
import { isDamage, reportDamage } from '../log/corruption.ts';
import { describeScavenged } from '../scavenge-store.ts';
import { scavenge } from '../scavenger.ts';
import { requireSecret, secretOf } from '../secret.ts';
import { FEATURES, featuresMethod, GOSSIP, gossipMethod } from '../server-info-handlers.ts';
import { openStore, type Store } from '../store.ts';
import { appendMethod, removeMethod } from './append-handlers.ts';
import { batchAppendMethod } from './batch-append-handler.ts';
import { type Parts, type Reading, readAll, readStream } from './read-handlers.ts';
import { readRequestOf } from './read-request.ts';
import { createResponseWriter } from './response-writer.ts';
import { followAll, followStream } from './subscription-handlers.ts';

const handleRead = async (parts: Parts, call: Call, message: Buffer): Promise<Status | undefined> => {
  const request = readRequestOf(message);
  const response = createResponseWriter(call, parts, request);
  const reading: Reading = { call, request, response };
  const { source } = request;
  const stream = request.subscription ? followStream : readStream;
  const all = request.subscription ? followAll : readAll;
  try {
    return await (source.kind === 'stream' ? stream(parts, reading, source) : all(parts, reading, source));
  } finally {
    // Do this after an error, too: if a damaged record ended the read, the events before it must still be sent.
    response.flush();
  }
};

/** Creates the handler of Streams.Read, which serves both reads and subscriptions. */
const readMethod =
  (parts: Parts) =>
  (call: Call): Receiver =>
    unary(call, (bytes) => {
      handleRead(parts, call, bytes).then(
        (status) => call.end(status),
        (error) => {
          if (isDamage(error)) {
            reportDamage(error);
            return call.end(dataLoss(error.message));
          }
          if (!(error instanceof SyntaxError)) printErrorLine(`store: a read failed: ${error}`);
          call.end(handlerFailure);
        },
      );
    });

/** Never runs `work` twice at the same time. A call during a run gets the result of that run. */
const singleFlight = <T>(work: () => Promise<T>): (() => Promise<T>) => {
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
  [SCAVENGE]: textMethod(singleFlight(async () => describeScavenged(await scavenge(store)))),
});

const stopProcess = (error: unknown): never => {
  printErrorLine(`store: stopped, because the contents of the disk are unknown after a failed write: ${error}`);
  process.exit(70);
};

export type ServeOptions = {
  dir: string;
  /** The TCP port; with 0, the system chooses a free port. */
  port: number;
  /** Whether every user of this machine may call the store without the secret. */
  open: boolean;
  host?: string;
  /** Called with each line of text for the operator; if absent, the lines are printed. */
  print?: (line: string) => void;
};

/**
 * Serves the store of a directory on `host` (the loopback interface if absent).
 * @throws Error if another process already serves it, if its log is damaged, or if the port is in use
 */
export const serveStore = async ({
  dir,
  port,
  open,
  host = '127.0.0.1',
  print = printLine,
}: ServeOptions): Promise<{ port: number; close: () => Promise<void> }> => {
  makeDirectory(dir);
  const lock = lockFile(join(dir, 'lock'));
  if (!lock) throw new Error(`${dir} is served by another process: stop that process first`);
  const secret = secretOf(dir);
  const store = openStore(dir, stopProcess);
  let boundPort = port;
  const { server, close } = grpcServer(
    methodsOf(store, host, () => boundPort),
    open ? () => undefined : requireSecret(secret),
  );
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  boundPort = (server.address() as AddressInfo).port;
  writeAddressFile(dir, `${host}:${boundPort}`);
  if (store.truncatedBytes > 0) print(`store: removed ${counted(store.truncatedBytes, 'byte')} of an append that a crash left incomplete`);
  const access = open ? 'open to every user of it' : 'closed to its other users';
  print(`store ready esdb://${host}:${boundPort}?tls=false (one node, for this machine only, ${access}; a cluster is one URL away)`);
  return {
    port: boundPort,
    close: async () => {
      await close(unavailable('the store is shutting down'));
      await store.close();
      removeAddressFile(dir);
      lock.release();
    },
  };
};
