import type { Logger } from 'pino';

const STILL_DOWN_INTERVAL_MS = 60_000;

export type OutageLog = {
  /** Logs the first time, and then once a minute. */
  readonly down: (reason: string) => void;
  /** Logs the end of an outage, and how long it lasted. */
  readonly up: () => void;
};

type Outage = { readonly since: number; reason: string; loggedAt: number };

/** `details` returns further fields of each line. `now` returns milliseconds. */
export const createOutageLog = (
  logger: Pick<Logger, 'warn' | 'info'>,
  service: string,
  details: () => Readonly<Record<string, number>> = () => ({}),
  now: () => number = () => performance.now(),
): OutageLog => {
  let outage: Outage | undefined;
  const fieldsOf = ({ since, reason }: Outage) => ({ service, reason, down_seconds: Math.round((now() - since) / 1_000), ...details() });
  return {
    down: (reason) => {
      if (!outage) {
        outage = { since: now(), reason, loggedAt: now() };
        return logger.warn({ service, reason, ...details() }, `${service} does not work`);
      }
      outage.reason = reason;
      if (now() - outage.loggedAt < STILL_DOWN_INTERVAL_MS) return;
      outage.loggedAt = now();
      logger.warn(fieldsOf(outage), `${service} still does not work`);
    },
    up: () => {
      if (!outage) return;
      logger.info(fieldsOf(outage), `${service} works again`);
      outage = undefined;
    },
  };
};
