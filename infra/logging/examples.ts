import { printLine } from './print-line.ts';

const MAX_EXAMPLES = 3;
const MAX_FINDINGS = 10;

const moreLine = (count: number, what: string): string => `… and ${count} more${what}: --verbose prints all`;

/** Returns the first ten, and a line, which begins with `indent`, that counts the others; with `isVerbose`, returns all. */
export const examplesOf = (lines: readonly string[], isVerbose: boolean, indent = ''): readonly string[] =>
  isVerbose || lines.length <= MAX_FINDINGS
    ? lines
    : [...lines.slice(0, MAX_FINDINGS), `${indent}${moreLine(lines.length - MAX_FINDINGS, '')}`];

/** Prints the first three lines of each kind as they come, or all with `isVerbose`; `end` counts those left out. */
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
