import type { PatternCompiler } from '../../commands/pattern-compiler.ts';
import type { TextPattern } from '../../domain/guardrails/guardrail-evaluation.ts';
import { replacementOf } from '../../domain/redaction/redaction-patterns.ts';
import { createLruMap } from '../lru-map.ts';
import { compileJsonQuery } from './json-query.ts';
import { compileTextPattern } from './text-pattern.ts';

const MAX_COMPILED = 1_000;

const compiled = createLruMap<string, TextPattern>({ capacity: MAX_COMPILED });

/** Uses a cache. @throws Error like `compileTextPattern` */
export const textPattern = (pattern: string): TextPattern => {
  const known = compiled.get(pattern) ?? compileTextPattern(pattern);
  compiled.set(pattern, known);
  return known;
};

const messageOf = (compile: () => unknown): string | null => {
  try {
    compile();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};

export const patternCompiler: PatternCompiler = {
  faultOf: (pattern) => messageOf(() => textPattern(pattern)),
  faultOfQuery: (path) => messageOf(() => compileJsonQuery(path)),
  sizeOf: (pattern) => textPattern(pattern).size,
  redact: (text, patterns) => {
    let redacted = text;
    const hits = patterns.flatMap(({ pattern, tag }) => {
      const { text: replaced, count } = textPattern(pattern).replace(redacted, replacementOf(tag));
      redacted = replaced;
      return count > 0 ? [{ tag, count }] : [];
    });
    return { text: redacted, hits };
  },
};
