import { test } from 'uvu';
import { equal, is, ok, throws } from 'uvu/assert';
import { patternCompiler } from '../../infra/guardrails/pattern-compiler.ts';
import { compileTextPattern } from '../../infra/guardrails/text-pattern.ts';

/** Patterns for which a backtracking matcher takes exponential or high polynomial time on some texts. */
const EVIL_CORES = [
  '(a+)+',
  '(a|aa)+',
  '(a|a?)+',
  '([a-z]+)*',
  '(a*)*b',
  '(.*a){12}',
  '(x+x+)+y',
  '(\\w+\\s?)+',
  '(a|b)*a(a|b){9}',
  '(.*)*',
];
const EVIL_ENDS = ['$', '!$', 'z', '\\d$', '(?i)Q', '\\b!', '[^a]$', '(!|#)+$', '\\pL\\pN$', '=.*='];
const EVIL_PATTERNS = EVIL_CORES.flatMap((core) => EVIL_ENDS.map((end) => `${core}x${end}`));
const TEXT = `${'a'.repeat(50_000)}!`;

test('none of 100 patterns that are exponentially slow in backtracking engines takes more than 100 ms for 50,000 characters', () => {
  is(EVIL_PATTERNS.length, 100);
  const slow = EVIL_PATTERNS.filter((pattern) => {
    const { test: matches } = compileTextPattern(pattern);
    const times = [0, 1].map(() => {
      const startedAt = process.cpuUsage();
      matches(TEXT);
      return process.cpuUsage(startedAt).user / 1_000;
    });
    return Math.min(...times) > 100;
  });
  equal(slow, []);
});

for (const [pattern, reason] of [
  ['(?=a)b', 'look-ahead'],
  ['(?<!a)b', 'look-behind'],
  ['(a)\\1', 'a back reference'],
  ['(?P<x>a)\\k<x>', 'a named back reference'],
  ['(a{1,1000}){1,1000}', 'nested repetitions'],
  ['(a|b){1000}', 'a program of more than 2,000 instructions'],
  ['[', 'a syntax error'],
  ['a*', 'a match of the empty text'],
] as const)
  test(`compiling a pattern with ${reason} is refused`, () => {
    throws(() => compileTextPattern(pattern));
    ok(patternCompiler.faultOf(pattern));
  });

/** [pattern, a text, whether it matches] As RE2's syntax says: https://github.com/google/re2/wiki/Syntax */
const WORDS: readonly (readonly [pattern: string, text: string, matches: boolean])[] = [
  ['\\bПетров\\b', 'для Петров и', false],
  ['(?:^|\\PL)Петров(?:\\PL|$)', 'для Петров и', true],
  ['(?:^|\\PL)Петров(?:\\PL|$)', 'Петров', true],
  ['(?:^|\\PL)Петров(?:\\PL|$)', 'Петрова', false],
  ['Петров\\pL*', 'Петровым', true],
  ['\\w', 'ж', false],
  ['\\pL', 'ж', true],
  ['\\d', '٤', false],
  ['\\p{Nd}', '٤', true],
  ['\\bMüller\\b', 'Herr Müller', true],
  ['Müller', 'Mu\u0308ller', false],
  ['M(?:ü|u\\x{308})ller', 'Mu\u0308ller', true],
];

test('the classes of a pattern know only ASCII, and the documented forms match words and digits of every script', () => {
  for (const [pattern, text, matches] of WORDS) is(compileTextPattern(pattern).test(text), matches, `${pattern}: ${text}`);
});

test('redaction replaces each match of a pattern with the tag of that pattern, and counts the matches by tag', () =>
  equal(
    patternCompiler.redact('ada@example.com, bob@example.com: 4711', [
      { pattern: '[a-z]+@[a-z.]+', tag: 'EMAIL' },
      { pattern: '\\d+', tag: 'NUMBER' },
      { pattern: 'nothing', tag: 'NONE' },
    ]),
    {
      text: '[redacted:EMAIL], [redacted:EMAIL]: [redacted:NUMBER]',
      hits: [
        { tag: 'EMAIL', count: 2 },
        { tag: 'NUMBER', count: 1 },
      ],
    },
  ));

test('redaction inserts a tag as it is, even if the tag contains characters that have a meaning in replacements, such as $1', () =>
  is(patternCompiler.redact('abc', [{ pattern: '(b)', tag: '$1$&' }]).text, 'a[redacted:$1$&]c'));

test('redaction ignores empty matches', () => equal(compileTextPattern('\\b').replace('a b', '#'), { text: 'a b', count: 0 }));

test.run();
