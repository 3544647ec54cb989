import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';
import { escapeControls } from './escape-controls.ts';
import { nonblockingStdout } from './nonblocking-stdout.ts';

/** The log of a process: JSON lines on standard output, in which nothing moves a terminal. */
export const loggerOf = ({ logLevel }: Pick<Config, 'logLevel'>, name: string): Logger =>
  pino(
    { level: logLevel, name, redact: ['req.headers.authorization', '*.authorization'], hooks: { streamWrite: escapeControls } },
    nonblockingStdout(),
  );

/** Says of each place of the log that is harmed, once, that it was met. */
export const corruptionReporter = (logger: Logger) => {
  const places = new Set<string>();
  const tell = (message: string): void => {
    const place = /position (\d+)/.exec(message)?.[1] ?? '';
    if (places.has(place)) return;
    places.add(place);
    logger.error({ position: place }, 'the event log is damaged: run "annals store verify", which names the event');
  };
  return { tell, told: () => [...places].slice(0, 10).map((place) => `event log (damaged at position ${place})`) };
};
