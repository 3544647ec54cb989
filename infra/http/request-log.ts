import type { Logger } from 'pino';
import type { Principal } from '../../domain/principal.ts';

/** The maximum number of lines about failed requests of one kind that are logged within one interval. */
export const MAX_LINES_PER_INTERVAL = 20;
const INTERVAL_MS = 10_000;
const READ_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** `route` is the path template. */
export type RequestKind = { readonly method: string; readonly route: string; readonly status: number };

/** Never logs a path, a query, a header value or a body, because they may be secret. */
export type LogRequest = (requestId: string, principal: Principal | undefined, milliseconds: number) => void;

const actorOf = (principal: Principal | undefined): string | null => {
  if (!principal) return null;
  if (principal.kind === 'user') return `user:${principal.user_id}`;
  return principal.kind === 'runner' ? `agent:${principal.agent_id}` : `system:${principal.name}`;
};

const keyOf = (principal: Principal | undefined): string | null => (principal && principal.kind !== 'system' ? principal.key_id : null);

const rounded = (milliseconds: number): number => Math.round(milliseconds * 1_000) / 1_000;

const ignoreRequest: LogRequest = () => {};

type LineLimit = {
  /** Counts a line, and returns whether it may be logged. */
  readonly mayLog: () => boolean;
  /** Reports the number of lines that were left out in the interval. */
  readonly endInterval: () => void;
};

/** Many failing requests must not fill the log. `reportOmitted` gets the number of lines omitted in an interval. */
const lineLimit = (intervalMs: number, reportOmitted: (count: number) => void): LineLimit => {
  let count = 0;
  let timer: NodeJS.Timeout | undefined;
  const endInterval = (): void => {
    clearTimeout(timer);
    if (count > MAX_LINES_PER_INTERVAL) reportOmitted(count - MAX_LINES_PER_INTERVAL);
    count = 0;
  };
  return {
    mayLog: () => {
      if (count === 0) timer = setTimeout(endInterval, intervalMs).unref();
      return ++count <= MAX_LINES_PER_INTERVAL;
    },
    endInterval,
  };
};

export type RequestLog = {
  readonly ofKind: (kind: RequestKind) => LogRequest;
  /** Logs the number of omitted lines. Call it before the process exits. */
  readonly close: () => void;
};

/** Logs reads at the level debug, mutations and failures at info. A logger per kind renders the fields of the kind only once. */
export const createRequestLog = (logger: Logger, intervalMs = INTERVAL_MS): RequestLog => {
  const limits: LineLimit[] = [];

  const limitedBy = (limit: LineLimit): LineLimit['mayLog'] => {
    limits.push(limit);
    return limit.mayLog;
  };

  const ofKind = (kind: RequestKind): LogRequest => {
    const hasFailed = kind.status >= 400;
    const level = READ_METHODS.has(kind.method) && !hasFailed ? 'debug' : 'info';
    if (!logger.isLevelEnabled(level)) return ignoreRequest;
    const kindLogger = logger.child(kind);
    const reportOmitted = (omitted: number): void => kindLogger.info({ omitted }, 'more requests of this kind were not logged');
    const mayLog = hasFailed ? limitedBy(lineLimit(intervalMs, reportOmitted)) : () => true;
    return (requestId, principal, milliseconds) => {
      if (!mayLog()) return;
      const fields = { request_id: requestId, ms: rounded(milliseconds), actor: actorOf(principal), key_id: keyOf(principal) };
      kindLogger[level](fields, 'request');
    };
  };

  return {
    ofKind,
    close: () => {
      for (const { endInterval } of limits) endInterval();
    },
  };
};
