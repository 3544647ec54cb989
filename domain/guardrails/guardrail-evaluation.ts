import { type BodyContent, bodyContent } from '../bodies/body-content.ts';
import type { BodyVerdict, Media } from '../bodies/body-inspection.ts';
import { CHUNK_BYTES } from '../bodies/delivery-body.ts';
import type { ValuePath } from '../bodies/json-values.ts';
import { counted } from '../counted.ts';
import { type Detector, detectIn, redactDetected } from '../redaction/detectors.ts';
import { type RedactionHit, type RedactionPattern, replacementOf, sumHits } from '../redaction/redaction-patterns.ts';
import { type BlockReason, block, type GuardrailVerdict, pass } from './guardrail.ts';
import type { GuardrailRule } from './guardrail-rule.ts';

/** What rules check apart from the body. `size`: of the received body, in bytes. */
export type RuleSubject = { readonly size: number; readonly event: string | null; readonly causationDepth: number };

/** `media` and `json`: results of inspecting the body. */
export type CheckedBody = { readonly bytes: Uint8Array; readonly media: Media; readonly json: Extract<BodyVerdict, 'json' | 'form'> };

export type TextPattern = {
  /** Instructions of the compiled pattern: the time to match a character is at most proportional to this. */
  readonly size: number;
  readonly test: (text: string) => boolean;
  /** Replaces every match; `count` is their number. */
  readonly replace: (text: string, replacement: string) => { readonly text: string; readonly count: number };
};

export type JsonQuery = {
  readonly selects: (document: unknown) => boolean;
  readonly paths: (document: unknown) => readonly ValuePath[];
};

export type RuleTools = {
  readonly compilePattern: (pattern: string) => TextPattern;
  readonly compileQuery: (path: string) => JsonQuery;
  readonly findInjection: (text: string) => readonly string[];
};

/** `hits`: replaced matches for each tag. */
type Redacted = { readonly bytes: Uint8Array; readonly hits: readonly RedactionHit[] };
/** `redact` returns the body without the matches. */
type Finding = { readonly note: string; readonly redact?: () => Redacted };
type Find = (subject: RuleSubject, content: BodyContent) => Finding | null;
type CompiledRule = Pick<GuardrailRule, 'name' | 'kind' | 'action'> & { readonly find: Find };

type CompiledRedaction = { readonly tag: string; readonly pattern: TextPattern };

const noteOf = (hits: readonly RedactionHit[]): string => hits.map(({ tag, count }) => `${tag}: ${count}`).join(', ');

const finding = (applies: boolean, note: string): Finding | null => (applies ? { note } : null);

type RedactText = (text: string) => { readonly text: string; readonly hits: readonly RedactionHit[] };

const redactTexts = (content: BodyContent, redact: RedactText): Redacted => {
  const hits: RedactionHit[] = [];
  const bytes = content.mapTexts((text) => {
    const redacted = redact(text);
    hits.push(...redacted.hits);
    return redacted.text;
  });
  return { bytes, hits: sumHits(hits) };
};

const redactPatterns =
  (patterns: readonly CompiledRedaction[]): RedactText =>
  (original) => {
    let text = original;
    const hits: RedactionHit[] = [];
    for (const { tag, pattern } of patterns) {
      const replaced = pattern.replace(text, replacementOf(tag));
      text = replaced.text;
      if (replaced.count > 0) hits.push({ tag, count: replaced.count });
    }
    return { text, hits };
  };

const patternFind =
  (pattern: TextPattern, tag: string): Find =>
  (_, content) =>
    content.texts().some(pattern.test)
      ? { note: 'the pattern matches', redact: () => redactTexts(content, redactPatterns([{ tag, pattern }])) }
      : null;

const detectorFind =
  (detectors: readonly Detector[]): Find =>
  (_, content) => {
    const hits = detectIn(content.texts(), detectors);
    if (hits.length === 0) return null;
    return { note: noteOf(hits), redact: () => redactTexts(content, (text) => redactDetected(text, detectors)) };
  };

const queryFind =
  ({ selects, paths }: JsonQuery, when: 'present' | 'absent', tag: string): Find =>
  (_, content) => {
    const readings = content.readings();
    if (when === 'absent') return finding(!readings.every(selects), 'the query selects nothing');
    if (!readings.some(selects)) return null;
    const redact = (): Redacted => {
      const found = readings.flatMap(paths);
      return { bytes: content.replaceAt(found, replacementOf(tag)), hits: [{ tag, count: found.length }] };
    };
    return { note: 'the query selects a value', redact };
  };

const injectionFind =
  (findInjection: RuleTools['findInjection']): Find =>
  (_, content) => {
    const names = new Set(content.texts().flatMap(findInjection));
    return finding(names.size > 0, [...names].join(', '));
  };

const eventFind =
  ({ allow, deny }: GuardrailRule['options']): Find =>
  ({ event }) => {
    const applies = deny ? event !== null && deny.includes(event) : event === null || !allow!.includes(event);
    return finding(applies, event ?? 'names no event');
  };

const findOf = ({ name, kind, options }: GuardrailRule, tools: RuleTools): Find => {
  switch (kind) {
    case 'size':
      return ({ size }) => finding(size > options.max_bytes!, counted(size, 'byte'));
    case 'event_filter':
      return eventFind(options);
    case 'json_path':
      return queryFind(tools.compileQuery(options.path!), options.when ?? 'present', name);
    case 'pattern':
      return options.detectors ? detectorFind(options.detectors) : patternFind(tools.compilePattern(options.pattern!), name);
    case 'injection':
      return injectionFind(tools.findInjection);
    case 'loop':
      return ({ causationDepth }) => finding(causationDepth > options.max_depth!, `depth ${causationDepth}`);
    case 'rate':
      throw new Error('rules of the kind rate are evaluated after all others');
  }
};

/** `bytes`: the redacted body; null if nothing was redacted. `redactions`: replaced parts for each tag. `times`: only if timed. */
export type RulesResult = {
  readonly verdicts: readonly GuardrailVerdict[];
  readonly reason: BlockReason | null;
  readonly bytes: Uint8Array | null;
  readonly redactions: readonly RedactionHit[];
  readonly times?: readonly RuleTime[];
};

/** `rule`: its name, or `redaction` for the redaction patterns of the tenant. */
export type RuleTime = { readonly rule: string; readonly microseconds: number };

/** Applies the rules in their order. The first rule that blocks ends the evaluation. */
export type EvaluateRules = (subject: RuleSubject, body: CheckedBody) => RulesResult;

type Progress = { content: BodyContent; redactions: RedactionHit[]; readonly verdicts: GuardrailVerdict[]; readonly body: CheckedBody };

/** With a clock (in milliseconds), adds to `times` how long the step took. */
const timed = <Result>(times: RuleTime[], rule: string, clock: (() => number) | undefined, step: () => Result): Result => {
  if (!clock) return step();
  const start = clock();
  const result = step();
  times.push({ rule, microseconds: Math.round((clock() - start) * 1_000) });
  return result;
};

const TOO_LARGE = `the body cannot be redacted: it has, or would have, more than ${CHUNK_BYTES} bytes`;

/** @returns why the delivery must be blocked; null if it must not be */
const applyRedaction = (progress: Progress, rule: string, { bytes, hits }: Redacted): BlockReason | null => {
  const { verdicts, redactions, body } = progress;
  if (body.bytes.length > CHUNK_BYTES || bytes.length > CHUNK_BYTES) {
    verdicts.push(block(rule, TOO_LARGE));
    return 'rules_failed';
  }
  progress.content = bodyContent(bytes, body.media, body.json);
  redactions.push(...hits);
  verdicts.push({ rule, verdict: 'redact', note: noteOf(hits) });
  return null;
};

/** @returns why the delivery must be blocked; null if it must not be */
const applyRule = (progress: Progress, { name, kind, action, find }: CompiledRule, subject: RuleSubject): BlockReason | null => {
  const found = find(subject, progress.content);
  if (!found) {
    progress.verdicts.push(pass(name));
    return null;
  }
  if (action === 'redact') return applyRedaction(progress, name, found.redact!());
  progress.verdicts.push({ rule: name, verdict: action, note: found.note });
  return action === 'block' ? kind : null;
};

/** Names the redaction patterns of the tenant among the rules. */
const REDACTION = 'redaction';

/**
 * Rules and patterns are checked before; none of the kind `rate`. With a `clock` (in milliseconds), results have the time of each rule.
 * @throws Error if a pattern or a query cannot be compiled
 */
export const compileRules = (
  rules: readonly GuardrailRule[],
  patterns: readonly RedactionPattern[],
  tools: RuleTools,
  clock?: () => number,
): EvaluateRules => {
  const compiled = rules.map((rule): CompiledRule => ({ ...rule, find: findOf(rule, tools) }));
  const redact = redactPatterns(patterns.map(({ pattern, tag }) => ({ tag, pattern: tools.compilePattern(pattern) })));
  return (subject, body) => {
    const progress: Progress = { content: bodyContent(body.bytes, body.media, body.json), redactions: [], verdicts: [], body };
    const times: RuleTime[] = [];
    let reason: BlockReason | null = null;
    for (const rule of compiled) {
      reason = timed(times, rule.name, clock, () => applyRule(progress, rule, subject));
      if (reason) break;
    }
    if (!reason && patterns.length > 0) {
      const redacted = timed(times, REDACTION, clock, () => redactTexts(progress.content, redact));
      if (redacted.hits.length > 0) reason = applyRedaction(progress, REDACTION, redacted);
    }
    const { content, verdicts, redactions } = progress;
    const isRedacted = !reason && redactions.length > 0;
    const result = { verdicts, reason, bytes: isRedacted ? content.bytes : null, redactions: isRedacted ? sumHits(redactions) : [] };
    return clock ? { ...result, times } : result;
  };
};
