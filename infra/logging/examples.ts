import { printLine } from './print-line.ts';

const MAX_EXAMPLES = 3;
const MAX_FINDINGS = 10;

const moreLine = (count: number, what: string): string => `… and ${count} more${what}: --verbose prints all`;

/**
 * Returns the first ten of many findings, and a line that counts the others; with `isVerbose`, all of them. `indent` is
 * the beginning of that line.
 */
export const examplesOf = (lines: readonly string[], isVerbose: boolean, indent = ''): readonly string[] =>
  isVerbose || lines.length <= MAX_FINDINGS
    ? lines
    : [...lines.slice(0, MAX_FINDINGS), `${indent}${moreLine(lines.length - MAX_FINDINGS, '')}`];

/**
 * Creates the output of a command that does the same to many things. Of each kind of line, `print` prints the first
 * three as they come, or all with `isVerbose`; `end` says how many of each kind were left out.
 */
export const createExamplePrinter = (isVerbose: boolean) => {
  const counts = new Map<string, number>();
  return {
    print: (kind: string, line: string): void => {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      if (isVerbose || count <= MAX_EXAMPLES) printLine(line);
    },
    end: (): void => {
      if (isVerbose) return;
      for (const [kind, count] of counts) if (count > MAX_EXAMPLES) printLine(moreLine(count - MAX_EXAMPLES, `, ${kind}`));
    },
  };
};
