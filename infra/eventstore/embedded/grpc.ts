import {
  constants,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { badRequest, ok, resourceExhausted, type Status, unimplemented, unknown } from './grpc-status.ts';

const MAX_RESETS = 1_000_000;
const MAX_MESSAGE_BYTES = 17 * 1024 * 1024;
const CLOSE_TIMEOUT_MS = 500;
/** If the caller reads slowly, a call stops sending at this many unsent bytes, and continues below RESUME_UNSENT_BYTES. */
const MAX_UNSENT_BYTES = 192 << 10;
const RESUME_UNSENT_BYTES = 96 << 10;

export type Call = {
  readonly headers: IncomingHttpHeaders;
  /** The deadline in milliseconds since 1970; Infinity if the caller set none. */
  readonly deadline: number;
  readonly isClosed: () => boolean;
  /** Returns false if the caller must await `drained` before it sends the next message. */
  readonly send: (framed: Buffer) => boolean;
  readonly drained: () => Promise<void>;
  /** Whether too many bytes are unsent, so that `drained` does not resolve at once. */
  readonly isBehind: () => boolean;
  readonly end: (status?: Status) => void;
  /** Sends the status if nothing was sent yet, and otherwise cancels the call. */
  readonly abort: (status: Status) => void;
  /** Replaces an earlier listener. Called whichever side ends the call. */
  readonly onClose: (then: () => void) => void;
};

/** `bytes` is a view of a shared buffer: use or copy it before the current turn of the event loop ends. */
export type Receiver = { message: (bytes: Buffer) => void; end: () => void; maxMessageBytes?: number };
export type Methods = Record<string, (call: Call) => Receiver>;

/** The request is one message; further ones are ignored. */
export const unary = (call: Call, handle: (bytes: Buffer) => void): Receiver => {
  let isReceived = false;
  return {
    message: (bytes) => {
      if (isReceived) return;
      isReceived = true;
      handle(bytes);
    },
    end: () => {
      if (!isReceived) call.end(badRequest('the call has no message'));
    },
  };
};

const MS_PER_UNIT: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

const deadlineOf = (timeout: string | string[] | undefined): number => {
  const [, amount, unit] = /^(\d{1,8})([HMSmun])$/.exec(String(timeout ?? '')) ?? [];
  return amount && unit ? Date.now() + Number(amount) * MS_PER_UNIT[unit]! : Number.POSITIVE_INFINITY;
};

const percentEncode = (text: string): string => text.replace(/[^\x20-\x24\x26-\x7e]+/gu, encodeURIComponent);

const trailersOf = ({ code, message, trailers }: Status): Record<string, string> => ({
  'grpc-status': String(code),
  ...(message ? { 'grpc-message': percentEncode(message) } : {}),
  ...trailers,
});

const RESPONSE_HEADERS = { ':status': 200, 'content-type': 'application/grpc+proto' };

/** Counts the bytes that the connection has not sent yet. */
const createFlowControl = (stream: ServerHttp2Stream) => {
  let unsent = 0;
  let resume = () => {};
  // Sending responses and reading requests can both wait; they share this promise.
  let drained: Promise<void> | undefined;
  return {
    write: (framed: Buffer): void => {
      unsent += framed.length;
      stream.write(framed, () => {
        unsent -= framed.length;
        if (unsent < RESUME_UNSENT_BYTES) resume();
      });
    },
    isFull: (): boolean => unsent >= MAX_UNSENT_BYTES,
    whenDrained: (): Promise<void> => {
      drained ??= new Promise((resolve) => {
        resume = () => {
          drained = undefined;
          resolve();
        };
      });
      return drained;
    },
    release: (): void => resume(),
  };
};

const createCall = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Call => {
  let final: Status | undefined;
  let onClose = () => {};
  const flow = createFlowControl(stream);
  stream.once('close', () => {
    flow.release();
    onClose();
  });
  const isClosed = () => final !== undefined || stream.closed || stream.destroyed;
  const open = () => {
    stream.respond(RESPONSE_HEADERS, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(trailersOf(final ?? ok)));
  };
  const end = (status = ok) => {
    if (isClosed()) return;
    final = status;
    if (stream.headersSent) stream.end();
    else if (status.code === 0) {
      open();
      stream.end();
    } else stream.respond({ ...RESPONSE_HEADERS, ...trailersOf(status) }, { endStream: true });
  };
  return {
    headers,
    deadline: deadlineOf(headers['grpc-timeout']),
    isClosed,
    send: (framed) => {
      if (isClosed()) return true;
      if (!stream.headersSent) open();
      flow.write(framed);
      return !flow.isFull();
    },
    isBehind: () => !isClosed() && flow.isFull(),
    drained: () => (isClosed() || !flow.isFull() ? Promise.resolve() : flow.whenDrained()),
    end,
    abort: (status) => {
      if (stream.headersSent) stream.close(constants.NGHTTP2_CANCEL);
      else end(status);
    },
    onClose: (listener) => {
      onClose = listener;
    },
  };
};

/** A message that arrives complete in one chunk is not copied. */
export const createMessageParser = (each: (bytes: Buffer) => void, maxMessageBytes = MAX_MESSAGE_BYTES) => {
  let rest: Buffer | undefined;
  let partial: { bytes: Buffer; filled: number } | undefined;
  const parse = (chunk: Buffer): void => {
    let at = 0;
    if (partial) {
      at = chunk.copy(partial.bytes, partial.filled);
      partial.filled += at;
      if (partial.filled < partial.bytes.length) return;
      const { bytes } = partial;
      partial = undefined;
      each(bytes);
    }
    while (chunk.length - at >= 5) {
      const length = chunk.readUInt32BE(at + 1);
      if (length > maxMessageBytes || chunk[at] !== 0) throw new RangeError('message too large or compressed');
      at += 5;
      if (chunk.length - at < length) {
        partial = { bytes: Buffer.allocUnsafe(length), filled: 0 };
        partial.filled = chunk.copy(partial.bytes, 0, at);
        return;
      }
      each(chunk.subarray(at, at + length));
      at += length;
    }
    rest = at < chunk.length ? chunk.subarray(at) : undefined;
  };
  return {
    take: (chunk: Buffer): void => {
      const bytes = rest ? Buffer.concat([rest, chunk]) : chunk;
      rest = undefined;
      parse(bytes);
    },
    /** Whether all bytes received so far form complete messages. */
    isComplete: (): boolean => rest === undefined && partial === undefined,
  };
};

const receive = (stream: ServerHttp2Stream, call: Call, receiver: Receiver): void => {
  const endOnError = (work: () => void) => {
    try {
      work();
    } catch (error) {
      call.end(error instanceof RangeError ? resourceExhausted(error.message) : unknown(String(error)));
    }
  };
  const parser = createMessageParser(receiver.message, receiver.maxMessageBytes);
  stream.on('data', (chunk: Buffer) => {
    endOnError(() => parser.take(chunk));
    // While the caller does not read its responses, do not read its further requests.
    if (!call.isBehind()) return;
    stream.pause();
    call.drained().then(() => stream.resume());
  });
  stream.on('end', () =>
    endOnError(() => {
      if (!parser.isComplete()) throw new RangeError('half a message');
      receiver.end();
    }),
  );
};

const destroyAll = (sessions: Iterable<ServerHttp2Session>): void => {
  for (const session of sessions) session.destroy();
};

/** Speaks plain HTTP/2. `authorize` returns the status with which a call is rejected; undefined if it is allowed. */
export const grpcServer = (
  methods: Methods,
  authorize: (headers: IncomingHttpHeaders) => Status | undefined,
): { server: Http2Server; close: (status: Status) => Promise<void> } => {
  const server = createServer({
    maxSessionMemory: 1024,
    settings: { initialWindowSize: 4 << 20, maxConcurrentStreams: 100_000 },
    // By default, the server ends a connection that resets many calls. The platform cancels many reads early.
    streamResetBurst: MAX_RESETS,
    streamResetRate: MAX_RESETS,
  });
  const sessions = new Set<ServerHttp2Session>();
  const calls = new Set<Call>();
  server.on('session', (session) => {
    sessions.add(session);
    session.setLocalWindowSize(32 << 20);
    session.on('close', () => sessions.delete(session)).on('error', () => session.destroy());
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => stream.destroy());
    const call = createCall(stream, headers);
    const method = methods[String(headers[':path'])];
    const rejected = authorize(headers) ?? (method ? undefined : unimplemented(String(headers[':path'])));
    if (rejected || !method) {
      stream.resume();
      return call.end(rejected);
    }
    calls.add(call);
    stream.on('close', () => calls.delete(call));
    receive(stream, call, method(call));
  });
  const close = async (status: Status): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const call of calls) call.abort(status);
    for (const session of sessions) session.close();
    const timer = setTimeout(() => destroyAll(sessions), CLOSE_TIMEOUT_MS);
    await closed;
    clearTimeout(timer);
  };
  return { server, close };
};
