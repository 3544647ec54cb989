import { counted } from '../../../domain/counted.ts';
import { printErrorLine } from '../../logging/print-line.ts';
import type { PassProgress } from '../../projector/drift-check.ts';

/** The time before the first line, and between two lines, in milliseconds. Short checks print nothing. */
const INTERVAL_MS = 2_000;
const CLEAR_LINE = '\r\x1b[K';

/** Returns how long the rest of a pass will take if it is as fast as its beginning; empty while this is unknown. */
const remainingOf = ({ share, elapsedMs }: PassProgress): string =>
  share === 0 ? '' : `, about ${Math.ceil((elapsedMs * (1 / share - 1)) / 1_000)} s left`;

export const progressLine = (progress: PassProgress): string => {
  const { pass, events, share } = progress;
  const subject = pass === 1 ? 'reading the log' : `reading the log, pass ${pass}`;
  return `${subject}: ${Math.floor(share * 100)} %, ${counted(events, 'event')}${remainingOf(progress)}`;
};

/**
 * Starts to show on standard error how far a check is: on a terminal in a line that the next one replaces, otherwise in
 * a line each. `end` removes the line from the terminal.
 */
export const startProgress = (now: () => number = () => performance.now()) => {
  const { isTTY } = process.stderr;
  let shownAt = now();
  return {
    show: (progress: PassProgress): void => {
      if (now() - shownAt < INTERVAL_MS) return;
      shownAt = now();
      if (isTTY) process.stderr.write(`${CLEAR_LINE}${progressLine(progress)}`);
      else printErrorLine(progressLine(progress));
    },
    end: (): void => void (isTTY && process.stderr.write(CLEAR_LINE)),
  };
};
