import {
  constants,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { badRequest, exhausted, ok, type Status, unimplemented, unknown } from './grpc-status.ts';

const MAX_RESETS = 1_000_000;
const MAX_MESSAGE_BYTES = 17 * 1024 * 1024;
// What one call may hold of a reader that does not keep up.
const HIGH = 192 << 10;
const LOW = 96 << 10;

/** One call, from the server's side. `send` takes framed messages; false means: wait for `drained` before the next. */
export type Call = {
  readonly headers: IncomingHttpHeaders;
  /** Epoch ms; Infinity where the caller set none. */
  readonly deadline: number;
  readonly isClosed: () => boolean;
  readonly send: (framed: Buffer) => boolean;
  readonly drained: () => Promise<void>;
  /** Whether the caller has left so much unread that `drained` is not at once. */
  readonly isBehind: () => boolean;
  readonly end: (status?: Status) => void;
  /** Ends it before its time: with the status where nothing was answered yet, else at once, as cancelled. */
  readonly abort: (status: Status) => void;
  /** Sets what runs when the call is over, whoever ended it: one thing, the last that was set. */
  readonly onClose: (then: () => void) => void;
};

/** What a method does with the caller's messages; views into a buffer that is good for this turn only. `maxMessageBytes` is in bytes. */
export type Receiver = { message: (bytes: Buffer) => void; end: () => void; maxMessageBytes?: number };
export type Methods = Record<string, (call: Call) => Receiver>;

/** A method that takes one message; what follows it is not looked at. */
export const unary = (call: Call, take: (bytes: Buffer) => void): Receiver => {
  let isTaken = false;
  return {
    message: (bytes) => {
      if (isTaken) return;
      isTaken = true;
      take(bytes);
    },
    end: () => {
      if (!isTaken) call.end(badRequest('the call has no message'));
    },
  };
};

const units: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

const deadlineOf = (timeout: string | string[] | undefined): number => {
  const [, amount, unit] = /^(\d{1,8})([HMSmun])$/.exec(String(timeout ?? '')) ?? [];
  return amount && unit ? Date.now() + Number(amount) * units[unit]! : Number.POSITIVE_INFINITY;
};

/** Printable ASCII stays as it is; everything else, and the sign itself, is percent-encoded. */
const escaped = (text: string): string => text.replace(/[^\x20-\x24\x26-\x7e]+/gu, encodeURIComponent);

const trailersOf = ({ code, message, trailers }: Status): Record<string, string> => ({
  'grpc-status': String(code),
  ...(message ? { 'grpc-message': escaped(message) } : {}),
  ...trailers,
});

const HEAD = { ':status': 200, 'content-type': 'application/grpc+proto' };

const createCall = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Call => {
  let final: Status | undefined;
  let outstanding = 0;
  let resume = () => {};
  // One for all who wait: what sends, and what takes in the caller's messages.
  let waiting: Promise<void> | undefined;
  const sent = (bytes: number) => {
    outstanding -= bytes;
    if (outstanding < LOW) resume();
  };
  let over = () => {};
  stream.once('close', () => {
    resume();
    over();
  });
  const isClosed = () => final !== undefined || stream.closed || stream.destroyed;
  const open = () => {
    stream.respond(HEAD, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(trailersOf(final ?? ok)));
  };
  const end = (status = ok) => {
    if (isClosed()) return;
    final = status;
    if (stream.headersSent) stream.end();
    else if (status.code === 0) {
      open();
      stream.end();
    } else stream.respond({ ...HEAD, ...trailersOf(status) }, { endStream: true });
  };
  return {
    headers,
    deadline: deadlineOf(headers['grpc-timeout']),
    isClosed,
    send: (framed) => {
      if (isClosed()) return true;
      if (!stream.headersSent) open();
      outstanding += framed.length;
      stream.write(framed, () => sent(framed.length));
      return outstanding < HIGH;
    },
    isBehind: () => !isClosed() && outstanding >= HIGH,
    drained: () => {
      if (isClosed() || outstanding < HIGH) return Promise.resolve();
      waiting ??= new Promise((resolve) => {
        resume = () => {
          waiting = undefined;
          resolve();
        };
      });
      return waiting;
    },
    end,
    abort: (status) => {
      if (stream.headersSent) stream.close(constants.NGHTTP2_CANCEL);
      else end(status);
    },
    onClose: (then) => {
      over = then;
    },
  };
};

/** Cuts a byte stream into messages. A message that lies whole in a chunk is not copied. */
export const createMessageParser = (each: (bytes: Buffer) => void, maxMessageBytes = MAX_MESSAGE_BYTES) => {
  let rest: Buffer | undefined;
  let wanted: { bytes: Buffer; filled: number } | undefined;
  const take = (chunk: Buffer): void => {
    let at = 0;
    if (wanted) {
      at = chunk.copy(wanted.bytes, wanted.filled);
      wanted.filled += at;
      if (wanted.filled < wanted.bytes.length) return;
      const { bytes } = wanted;
      wanted = undefined;
      each(bytes);
    }
    while (chunk.length - at >= 5) {
      const length = chunk.readUInt32BE(at + 1);
      if (length > maxMessageBytes || chunk[at] !== 0) throw new RangeError('message too large or compressed');
      at += 5;
      if (chunk.length - at < length) {
        wanted = { bytes: Buffer.allocUnsafe(length), filled: 0 };
        wanted.filled = chunk.copy(wanted.bytes, 0, at);
        return;
      }
      each(chunk.subarray(at, at + length));
      at += length;
    }
    rest = at < chunk.length ? chunk.subarray(at) : undefined;
  };
  return {
    take: (chunk: Buffer): void => {
      const whole = rest ? Buffer.concat([rest, chunk]) : chunk;
      rest = undefined;
      take(whole);
    },
    /** Whether nothing is left of a message that has not come whole. */
    isComplete: (): boolean => rest === undefined && wanted === undefined,
  };
};

const receive = (stream: ServerHttp2Stream, call: Call, receiver: Receiver): void => {
  const guarded = (work: () => void) => {
    try {
      work();
    } catch (error) {
      call.end(error instanceof RangeError ? exhausted(error.message) : unknown(String(error)));
    }
  };
  const cut = createMessageParser(receiver.message, receiver.maxMessageBytes);
  stream.on('data', (chunk: Buffer) => {
    guarded(() => cut.take(chunk));
    // Who does not read the answers is not asked for more.
    if (!call.isBehind()) return;
    stream.pause();
    call.drained().then(() => stream.resume());
  });
  stream.on('end', () =>
    guarded(() => {
      if (!cut.isComplete()) throw new RangeError('half a message');
      receiver.end();
    }),
  );
};

const destroyAll = (sessions: Iterable<ServerHttp2Session>): void => {
  for (const session of sessions) session.destroy();
};

/** A gRPC server over plain HTTP/2. `authorize` gives the status to refuse a call with, or nothing. */
export const grpcServer = (
  methods: Methods,
  authorize: (headers: IncomingHttpHeaders) => Status | undefined,
): { server: Http2Server; close: (status: Status) => Promise<void> } => {
  const server = createServer({
    maxSessionMemory: 1024,
    settings: { initialWindowSize: 4 << 20, maxConcurrentStreams: 100_000 },
    // Whoever may speak here at all is ours, and leaves many reads before their end: a limit would end the connection for all its calls.
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
    const refused = authorize(headers) ?? (method ? undefined : unimplemented(String(headers[':path'])));
    if (refused || !method) {
      stream.resume();
      return call.end(refused);
    }
    calls.add(call);
    stream.on('close', () => calls.delete(call));
    receive(stream, call, method(call));
  });
  const close = async (status: Status): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const call of calls) call.abort(status);
    for (const session of sessions) session.close();
    const patience = setTimeout(() => destroyAll(sessions), 500);
    await closed;
    clearTimeout(patience);
  };
  return { server, close };
};
