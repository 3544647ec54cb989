import { type Logger, type LoggerOptions, pino } from 'pino';
import type { Config } from '../config.ts';
import { escapeControls } from './escape-controls.ts';
import { nonblockingStdout } from './nonblocking-stdout.ts';

const MAX_REPORTED_POSITIONS = 10;

/** Returns for example `,"time":"2026-11-22T10:00:00.123Z"`. Renders all but the milliseconds only once per second. */
const timeField = (): (() => string) => {
  let second = -1;
  let upToSecond = '';
  return () => {
    const now = Date.now();
    const milliseconds = now % 1_000;
    if (now - milliseconds !== second) {
      second = now - milliseconds;
      upToSecond = `,"time":"${new Date(second).toISOString().slice(0, -4)}`;
    }
    return `${upToSecond}${String(milliseconds).padStart(3, '0')}Z"`;
  };
};

/** Renders the level as a word and the time in ISO 8601, so that people can read them without a tool. */
const readable = (): LoggerOptions => ({ formatters: { level: (level) => ({ level }) }, timestamp: timeField() });

/** Writes JSON lines to standard output, without characters that control a terminal. */
export const createLogger = ({ logLevel }: Pick<Config, 'logLevel'>, name: string): Logger =>
  pino(
    {
      ...readable(),
      level: logLevel,
      name,
      redact: ['req.headers.authorization', '*.authorization'],
      hooks: { streamWrite: escapeControls },
    },
    nonblockingStdout(),
  );

/**
 * Creates the logger for lines about single requests. It is several times cheaper than the logger of `createLogger`,
 * because it neither searches the fields for secrets nor escapes control characters; so the fields must contain
 * neither. Lines are collected for 100 ms and written together.
 */
export const createRequestLogger = ({ logLevel }: Pick<Config, 'logLevel'>, name: string): Logger =>
  pino({ ...readable(), level: logLevel, name }, { write: nonblockingStdout().writeLater });

/** `report` logs each damaged position once. `degradedParts` lists them for the health check, ten at most. */
export const createCorruptionReporter = (logger: Logger) => {
  const positions = new Set<string>();
  const report = (message: string): void => {
    const position = /position (\d+)/.exec(message)?.[1] ?? '';
    if (positions.has(position)) return;
    positions.add(position);
    logger.error({ position }, 'the event log is damaged: run "annals store verify" to find the damaged event');
  };
  return {
    report,
    degradedParts: (): string[] =>
      [...positions].slice(0, MAX_REPORTED_POSITIONS).map((position) => `event log (damaged at position ${position})`),
  };
};
