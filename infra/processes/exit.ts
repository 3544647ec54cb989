import { inspect } from 'node:util';
import { escapeLine } from '../logging/escape-controls.ts';
import { printErrorLine } from '../logging/print-line.ts';

/** Prints one line to standard error. Control characters are escaped. */
export const printError = (line: string): void => void process.stderr.write(`annals: ${escapeLine(line)}\n`);

const firstLineOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] || 'the command failed without giving a reason';

/**
 * Prints the first line of the error, and exits with its `exitCode` or, if it has none, with 1. If LOG_LEVEL is debug
 * or trace, the stack is printed, too.
 */
export const fail = (error: unknown): never => {
  printError(firstLineOf(error));
  if (/^(debug|trace)$/.test(process.env.LOG_LEVEL ?? '')) for (const line of inspect(error).split('\n')) printErrorLine(line);
  process.exit((error as { exitCode?: number } | null)?.exitCode ?? 1);
};

/** Exits with this code. First waits until everything printed to standard output has been written, or cannot be written. */
export const finish = async (code: number): Promise<never> => {
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  return process.exit(code);
};
