import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { type Answer, type Connection, connection } from './connection.ts';

export type Load = {
  readonly port: number;
  readonly connections: number;
  readonly warmup: number;
  readonly seconds: number;
  /** Requests become due at this rate, whatever the server does; absent: each connection sends as soon as it has its answer. */
  readonly rate?: number;
  /** The bytes of a request by its number; `due` is when it should leave. */
  readonly request: (number: number, due: number) => Buffer;
  readonly answered?: (number: number, answer: Answer) => void;
};

/** Milliseconds, and how often a second. */
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

const isGood = (status: number): boolean => status >= 200 && status < 300;

/** Counts what was due within the measured time and answered before its end. */
const tally = (from: number, until: number) => {
  const times = histogram();
  const statuses: Record<number, number> = {};
  let failed = 0;
  return {
    statuses,
    note: (due: number, answer: Answer | null): void => {
      const now = performance.now();
      if (due < from || now > until) return;
      const status = answer?.status ?? 0;
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (isGood(status)) record(times, now - due);
      else failed++;
    },
    figures: (): Figures => figuresOf(times, (until - from) / 1_000, failed),
  };
};

type Send = (socket: Connection, due: number, done: (kept: boolean) => void) => void;

/** Sends over each connection, one request behind the other, until the time has come. */
const closedLoop = (sockets: readonly Connection[], { port }: Load, until: number, send: Send): Promise<unknown> => {
  const turn = (socket: Connection): Promise<boolean> => new Promise((resolve) => send(socket, performance.now(), resolve));
  const run = async (first: Connection): Promise<void> => {
    for (let socket = first; performance.now() < until; ) if (!(await turn(socket))) socket = await connection(port);
  };
  return Promise.all(sockets.map(run));
};

const openSocket = async (socket: Connection, port: number): Promise<Connection> => (socket.isOpen() ? socket : connection(port));

/** Sends what is due over whichever connection is free. A request's time counts from when it was due, so that a server that stalls can't hide it. */
const openLoop = (sockets: Connection[], { port, rate = 1 }: Load, began: number, until: number, send: Send): Promise<void> =>
  new Promise((resolve) => {
    const due: number[] = [];
    let planned = 0;
    let underWay = 0;
    const pump = (): void => {
      while (sockets.length > 0 && due.length > 0) {
        const [socket, at] = [sockets.pop()!, due.shift()!];
        underWay++;
        openSocket(socket, port).then(
          (open) => send(open, at, () => free(open)),
          () => free(socket),
        );
      }
    };
    const free = (socket: Connection): void => {
      underWay--;
      sockets.push(socket);
      pump();
    };
    const timer = setInterval(() => {
      const now = performance.now();
      for (const wanted = ((Math.min(now, until) - began) / 1_000) * rate; planned < wanted; planned++)
        due.push(began + (planned / rate) * 1_000);
      pump();
      if (now < until || underWay > 0 || due.length > 0) return;
      clearInterval(timer);
      resolve();
    }, 1);
  });

/** Puts load on a server of this machine, and measures it. */
export const load = async (wanted: Load): Promise<LoadFigures> => {
  const sockets = await Promise.all(Array.from({ length: wanted.connections }, () => connection(wanted.port)));
  const began = performance.now();
  const from = began + wanted.warmup * 1_000;
  const until = from + wanted.seconds * 1_000;
  const { note, statuses, figures } = tally(from, until);
  let sent = 0;
  const send: Send = (socket, due, done) => {
    const number = sent++;
    socket.send(wanted.request(number, due), (answer) => {
      note(due, answer);
      if (answer) wanted.answered?.(number, answer);
      done(answer !== null);
    });
  };
  await (wanted.rate ? openLoop(sockets, wanted, began, until, send) : closedLoop(sockets, wanted, until, send));
  for (const socket of sockets) socket.end();
  return { ...figures(), sent, statuses };
};
