import { RE2JS } from 're2js';
import type { TextPattern } from '../../domain/guardrails/guardrail-evaluation.ts';

/** The maximum size of a compiled pattern, in instructions. It limits the time per character of the text. */
const MAX_PROGRAM_SIZE = 2_000;

const messageOf = (error: unknown): string => (error as Error).message.replace('error parsing regexp: ', '');

const replaceAll = (compiled: RE2JS, text: string, replacement: string): { text: string; count: number } => {
  if (!compiled.test(text)) return { text, count: 0 };
  const matcher = compiled.matcher(text);
  let replaced = '';
  let end = 0;
  let count = 0;
  while (matcher.find()) {
    if (matcher.start() === matcher.end()) continue;
    replaced += text.slice(end, matcher.start()) + replacement;
    end = matcher.end();
    count++;
  }
  return { text: replaced + text.slice(end), count };
};

/**
 * Parses a pattern for RE2's matcher. This matcher never backtracks, so no pattern can take exponential time.
 * @throws Error with a text for the user if the pattern is not valid, if it needs look-around or back references, or if
 * it is too large after its repetitions are expanded
 */
export const parsePattern = (pattern: string): RE2JS => {
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch (error) {
    throw new Error(`is not a pattern that RE2 supports: ${messageOf(error)}`);
  }
  if (compiled.programSize() > MAX_PROGRAM_SIZE) throw new Error('repeats too much: the compiled pattern is too large');
  return compiled;
};

/** @throws Error like `parsePattern`, and also if the pattern matches the empty text */
export const compileTextPattern = (pattern: string): TextPattern => {
  const compiled = parsePattern(pattern);
  if (compiled.test('')) throw new Error('must not match the empty text');
  return {
    size: compiled.programSize(),
    test: (text) => compiled.test(text),
    replace: (text, replacement) => replaceAll(compiled, text, replacement),
  };
};
