import type { Logger } from 'pino';
import type { Principal } from '../../domain/principal.ts';

/** Within each interval, at most this many lines about failed requests of one kind are logged. */
export const MAX_LINES_PER_INTERVAL = 20;
const INTERVAL_MS = 10_000;
const READ_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Requests that have these values in common. `route` is the path template. */
export type RequestKind = { readonly method: string; readonly route: string; readonly status: number };

/** Logs one request of a kind. It never logs a path, a query, a header value or a body, because they may be secret. */
export type LogRequest = (requestId: string, principal: Principal | undefined, milliseconds: number) => void;

const actorOf = (principal: Principal | undefined): string | null => {
  if (!principal) return null;
  if (principal.kind === 'user') return `user:${principal.user_id}`;
  return principal.kind === 'runner' ? `agent:${principal.agent_id}` : `system:${principal.name}`;
};

const keyOf = (principal: Principal | undefined): string | null => (principal && principal.kind !== 'system' ? principal.key_id : null);

/** Rounds to microseconds. */
const rounded = (milliseconds: number): number => Math.round(milliseconds * 1_000) / 1_000;

const ignoreRequest: LogRequest = () => {};

/**
 * Limits the lines of one kind, so that a flood of failing requests does not fill the log. At the end of an interval
 * with too many lines, `reportOmitted` gets the number of those that were left out.
 */
const lineLimit = (intervalMs: number, reportOmitted: (count: number) => void): (() => boolean) => {
  let count = 0;
  const endInterval = (): void => {
    if (count > MAX_LINES_PER_INTERVAL) reportOmitted(count - MAX_LINES_PER_INTERVAL);
    count = 0;
  };
  return () => {
    if (count === 0) setTimeout(endInterval, intervalMs).unref();
    return ++count <= MAX_LINES_PER_INTERVAL;
  };
};

/**
 * Creates the function that logs requests of one kind: reads at the level debug, mutations and failed requests at the
 * level info. Each kind has its own logger, so that the fields of the kind are rendered only once.
 */
export const createRequestLog =
  (logger: Logger, intervalMs = INTERVAL_MS) =>
  (kind: RequestKind): LogRequest => {
    const hasFailed = kind.status >= 400;
    const level = READ_METHODS.has(kind.method) && !hasFailed ? 'debug' : 'info';
    if (!logger.isLevelEnabled(level)) return ignoreRequest;
    const ofKind = logger.child(kind);
    const reportOmitted = (omitted: number): void => ofKind.info({ omitted }, 'more requests of this kind were not logged');
    const mayLog = hasFailed ? lineLimit(intervalMs, reportOmitted) : () => true;
    return (requestId, principal, milliseconds) => {
      if (!mayLog()) return;
      const fields = { request_id: requestId, ms: rounded(milliseconds), actor: actorOf(principal), key_id: keyOf(principal) };
      ofKind[level](fields, 'request');
    };
  };
