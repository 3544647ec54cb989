import type { Logger } from 'pino';
import type { FirstKey } from '../../commands/operations/seed-platform.ts';
import { printLine } from '../logging/print-line.ts';

/** Sends the first API key to the supervisor, or prints it if there is no supervisor. */
export const deliverFirstKey = (first: FirstKey, link: string): void => {
  if (process.send) process.send({ kind: 'first-key', ...first, link });
  else printLine(`API key (shown once): ${first.key}   tenant: ${first.tenant_id}`);
};

/** Shows a line to the operator: in the log and, if there is a supervisor, also in the supervisor's output. */
export const notify = (logger: Logger, line: string): void => {
  logger.warn(line);
  process.send?.({ kind: 'notice', line });
};
