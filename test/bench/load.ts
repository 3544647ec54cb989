import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { type Connection, type HttpResponse, openConnection } from './connection.ts';

export type LoadOptions = {
  readonly port: number;
  readonly connections: number;
  readonly warmup: number;
  readonly seconds: number;
  /**
   * The number of requests per second. It stays the same if responses take long. If absent, each connection sends its
   * next request as soon as it has received the previous response.
   */
  readonly rate?: number;
  /**
   * Returns the bytes of a request. `due` is the time at which the request should be sent, on the clock of
   * `performance.now()`.
   */
  readonly request: (number: number, due: number) => Buffer;
  readonly onResponse?: (number: number, response: HttpResponse) => void;
};

/**
 * Measured results: `rate` is in requests per second, `p50` and `p99` are in milliseconds, `failed` is a number of
 * requests.
 */
export type Figures = { readonly rate: number; readonly p50: number; readonly p99: number; readonly failed: number };

export type LoadFigures = Figures & { readonly sent: number; readonly statuses: Readonly<Record<number, number>> };

const MICROSECONDS = 1_000;

export const histogram = (): RecordableHistogram => createHistogram({ lowest: 1, highest: 600_000_000, figures: 3 });

export const record = (times: RecordableHistogram, milliseconds: number): void =>
  times.record(Math.max(1, Math.round(milliseconds * MICROSECONDS)));

const percentile = (times: RecordableHistogram, share: number): number => times.percentile(share) / MICROSECONDS;

export const figuresOf = (times: RecordableHistogram, seconds: number, failed = 0): Figures => ({
  rate: times.count / seconds,
  p50: times.count === 0 ? Number.NaN : percentile(times, 50),
  p99: times.count === 0 ? Number.NaN : percentile(times, 99),
  failed,
});

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** Counts the requests that were due in the measured period and were answered before its end. */
const createCounter = (from: number, until: number) => {
  const times = histogram();
  const statuses: Record<number, number> = {};
  let failed = 0;
  return {
    statuses,
    count: (due: number, response: HttpResponse | null): void => {
      const now = performance.now();
      if (due < from || now > until) return;
      const status = response?.status ?? 0;
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (isSuccess(status)) record(times, now - due);
      else failed++;
    },
    figures: (): Figures => figuresOf(times, (until - from) / 1_000, failed),
  };
};

type Send = (socket: Connection, due: number, done: (isConnected: boolean) => void) => void;

/**
 * Sends requests until the end time: each connection sends its next request when the previous one has been answered.
 */
const closedLoop = (sockets: readonly Connection[], { port }: LoadOptions, until: number, send: Send): Promise<unknown> => {
  const sendOne = (socket: Connection): Promise<boolean> => new Promise((resolve) => send(socket, performance.now(), resolve));
  const run = async (first: Connection): Promise<void> => {
    for (let socket = first; performance.now() < until; ) if (!(await sendOne(socket))) socket = await openConnection(port);
  };
  return Promise.all(sockets.map(run));
};

const openSocket = async (socket: Connection, port: number): Promise<Connection> => (socket.isOpen() ? socket : openConnection(port));

type Period = { readonly startedAt: number; readonly until: number };

/**
 * Sends each request when it is due, over any free connection. A response time starts when the request is due.
 * Otherwise, a request would look fast even if a stalled server had delayed its sending.
 */
const openLoop = (sockets: Connection[], { port, rate = 1 }: LoadOptions, { startedAt, until }: Period, send: Send): Promise<void> =>
  new Promise((resolve) => {
    const due: number[] = [];
    let planned = 0;
    let inFlight = 0;
    const pump = (): void => {
      while (sockets.length > 0 && due.length > 0) {
        const [socket, at] = [sockets.pop()!, due.shift()!];
        inFlight++;
        openSocket(socket, port).then(
          (open) => send(open, at, () => free(open)),
          () => free(socket),
        );
      }
    };
    const free = (socket: Connection): void => {
      inFlight--;
      sockets.push(socket);
      pump();
    };
    const timer = setInterval(() => {
      const now = performance.now();
      for (const dueCount = ((Math.min(now, until) - startedAt) / 1_000) * rate; planned < dueCount; planned++)
        due.push(startedAt + (planned / rate) * 1_000);
      pump();
      if (now < until || inFlight > 0 || due.length > 0) return;
      clearInterval(timer);
      resolve();
    }, 1);
  });

/** Sends requests to a server on this machine and measures the responses. */
export const load = async (options: LoadOptions): Promise<LoadFigures> => {
  const sockets = await Promise.all(Array.from({ length: options.connections }, () => openConnection(options.port)));
  const startedAt = performance.now();
  const from = startedAt + options.warmup * 1_000;
  const until = from + options.seconds * 1_000;
  const { count, statuses, figures } = createCounter(from, until);
  let sent = 0;
  const send: Send = (socket, due, done) => {
    const number = sent++;
    socket.send(options.request(number, due), (response) => {
      count(due, response);
      if (response) options.onResponse?.(number, response);
      done(response !== null);
    });
  };
  await (options.rate ? openLoop(sockets, options, { startedAt, until }, send) : closedLoop(sockets, options, until, send));
  for (const socket of sockets) socket.end();
  return { ...figures(), sent, statuses };
};
