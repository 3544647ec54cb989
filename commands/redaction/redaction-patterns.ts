import { z } from 'zod';
import { displayText } from '../../domain/fields.ts';
import * as RedactionPatterns from '../../domain/redaction/redaction-patterns.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import type { Ctx, Loaded } from '../context.ts';
import { assertPattern } from '../pattern-compiler.ts';

const MAX_TEST_LENGTH = 8_192;

const redactionPatternFields = {
  pattern: displayText(1, 1024).meta({
    description:
      'A regular expression in the syntax of RE2: without look-around and back references. `\\b`, `\\w` and `\\d` know only ASCII; `\\pL` is a letter and `\\p{Nd}` a digit of any script. What it matches is replaced',
    examples: ['CUST-\\d{6}'],
  }),
  tag: displayText(1, 64).meta({
    description: 'What the pattern matches; the replacement is `[redacted:<tag>]`',
    examples: ['customer number'],
  }),
};

export const CustomRedactionPattern = z.strictObject(redactionPatternFields).meta({ id: 'CustomRedactionPattern' });

export const CustomRedactionPatterns = z.array(CustomRedactionPattern).max(RedactionPatterns.MAX_PATTERNS);

export const RedactionTest = z
  .strictObject({
    text: z
      .string()
      .max(MAX_TEST_LENGTH)
      .meta({ description: 'The text to redact', examples: ['Order of CUST-123456'] }),
    patterns: CustomRedactionPatterns.optional().meta({ description: 'The patterns to test; absent: those of the tenant' }),
  })
  .meta({ id: 'RedactionTest' });

/** In steps (see `sizeOf`) per character, all patterns of a tenant together. */
const MAX_SIZE = 4_000;
/** A test with this many steps takes at most about a tenth of a second. */
const MAX_STEPS = 8_000_000;

type Patterns = readonly RedactionPatterns.RedactionPattern[];

const sizeOf = ({ checks }: Ctx, patterns: Patterns): number =>
  patterns.reduce((sum, { pattern }) => sum + checks.patterns.sizeOf(pattern), 0);

/** `pointer` is the place in the request. @throws Refusal invalid */
export const assertUsablePatterns = (ctx: Ctx, pointer: string, patterns: Patterns): void => {
  for (const [index, { pattern, tag }] of patterns.entries()) {
    assertPattern(ctx.checks, `${pointer}/${index}/pattern`, pattern);
    if (patterns.findIndex((other) => other.pattern === pattern && other.tag === tag) < index)
      throw invalid(`${pointer}/${index}`, 'is in the list twice', 'duplicate');
  }
  if (sizeOf(ctx, patterns) > MAX_SIZE) throw invalid(pointer, 'the patterns together take too long: repeat less', 'too_complex');
};

const isQuick = (ctx: Ctx, text: string, patterns: Patterns): boolean => sizeOf(ctx, patterns) * text.length <= MAX_STEPS;

/**
 * Call before the text, at `pointer` in the request, is stored. Refused if this takes too long: it must not be stored without redaction.
 * @throws Refusal invalid
 */
export const redactText = async (ctx: Ctx, pointer: string, text: string): Promise<string> => {
  const { patterns } = (await ctx.load(RedactionPatterns, ctx.tenant)).state;
  if (patterns.length === 0) return text;
  if (!isQuick(ctx, text, patterns))
    throw invalid(pointer, 'takes too long with the redaction patterns of the tenant: split it', 'too_complex');
  return ctx.checks.patterns.redact(text, patterns).text;
};

/** Redacts a runner's report, such as the end of a session, which must not be refused. Null if it takes too long: the text is not stored. */
export const redactReported = async (ctx: Ctx, pointer: string, text: string): Promise<string | null> => {
  try {
    return await redactText(ctx, pointer, text);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'invalid') return null;
    throw error;
  }
};

/** Stored instead of a text for which the patterns take too long. `name` says which text. */
export const unredacted = (name: string): string => `the redaction patterns of the tenant are too slow for the ${name}`;

/** @throws Refusal invalid */
export const replaceRedactionPatterns = (
  ctx: Ctx,
  { items }: { readonly items: z.output<typeof CustomRedactionPatterns> },
): Promise<Loaded<RedactionPatterns.RedactionPatterns>> => {
  assertUsablePatterns(ctx, '', items);
  return ctx.transact(RedactionPatterns, ctx.tenant, RedactionPatterns.replace(items));
};

/** Tests patterns, by default those of the tenant. Nothing is recorded. @throws Refusal invalid */
export const testRedactionPatterns = async (ctx: Ctx, { text: original, patterns }: z.output<typeof RedactionTest>) => {
  const loaded = await ctx.load(RedactionPatterns, ctx.tenant);
  if (patterns) assertUsablePatterns(ctx, '/patterns', patterns);
  const tested = patterns ?? loaded.state.patterns;
  if (!isQuick(ctx, original, tested))
    throw invalid('/text', 'takes too long with these patterns: shorten it, or test fewer patterns', 'too_complex');
  const redacted = ctx.checks.patterns.redact(original, tested);
  return { ...loaded, state: { text: redacted.text, hits: RedactionPatterns.sumHits(redacted.hits) } };
};
