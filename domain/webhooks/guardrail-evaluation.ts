import { type BodyContent, bodyContent } from './body-content.ts';
import type { BodyVerdict, Media } from './body-inspection.ts';
import { CHUNK_BYTES } from './delivery-body.ts';
import { type BlockReason, block, type GuardrailVerdict, pass } from './guardrail.ts';
import type { GuardrailRule } from './guardrail-rule.ts';
import type { ValuePath } from './json-values.ts';

/** What the rules check, apart from the body. `size` is that of the body as received, in bytes. */
export type RuleSubject = { readonly size: number; readonly event: string | null; readonly causationDepth: number };

/** A body to check. The results of its inspection say how to read it. */
export type CheckedBody = { readonly bytes: Uint8Array; readonly media: Media; readonly json: Extract<BodyVerdict, 'json' | 'form'> };

/** A tenant's pattern for what no agent may see, and the tag that replaces it. */
export type RedactionPattern = { readonly pattern: string; readonly tag: string };

/** A compiled pattern. */
export type TextPattern = {
  readonly test: (text: string) => boolean;
  /** Replaces every match, and counts them. */
  readonly replace: (text: string, replacement: string) => { readonly text: string; readonly count: number };
};

/** A compiled JSONPath query. */
export type JsonQuery = {
  readonly selects: (document: unknown) => boolean;
  /** Where the selected values are. */
  readonly paths: (document: unknown) => readonly ValuePath[];
};

/** What compiles the parts of rules, and finds texts that look like instructions to a language model. */
export type RuleTools = {
  readonly compilePattern: (pattern: string) => TextPattern;
  readonly compileQuery: (path: string) => JsonQuery;
  readonly findInjection: (text: string) => readonly string[];
};

/** What a rule has found. `redact` returns the body without it, and how many parts it has replaced. */
type Finding = { readonly note: string; readonly redact?: () => { readonly bytes: Uint8Array; readonly count: number } };
type Find = (subject: RuleSubject, content: BodyContent) => Finding | null;
type CompiledRule = Pick<GuardrailRule, 'name' | 'kind' | 'action'> & { readonly find: Find };

const finding = (applies: boolean, note: string): Finding | null => (applies ? { note } : null);

const mapCounted = (content: BodyContent, replace: (text: string) => { text: string; count: number }) => {
  let count = 0;
  const bytes = content.mapTexts((text) => {
    const replaced = replace(text);
    count += replaced.count;
    return replaced.text;
  });
  return { bytes, count };
};

const patternFind =
  ({ test, replace }: TextPattern, replacement: string): Find =>
  (_, content) =>
    content.texts().some(test)
      ? { note: 'the pattern matches', redact: () => mapCounted(content, (text) => replace(text, replacement)) }
      : null;

const queryFind =
  ({ selects, paths }: JsonQuery, when: 'present' | 'absent', replacement: string): Find =>
  (_, content) => {
    if (when === 'absent') return finding(!selects(content.document()), 'the query selects nothing');
    if (!selects(content.document())) return null;
    const redact = () => {
      const found = paths(content.document());
      return { bytes: content.replaceAt(found, replacement), count: found.length };
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
      return ({ size }) => finding(size > options.max_bytes!, `${size} bytes`);
    case 'event_filter':
      return eventFind(options);
    case 'json_path':
      return queryFind(tools.compileQuery(options.path!), options.when ?? 'present', `[${name}]`);
    case 'pattern':
      return patternFind(tools.compilePattern(options.pattern!), `[${name}]`);
    case 'injection':
      return injectionFind(tools.findInjection);
    case 'loop':
      return ({ causationDepth }) => finding(causationDepth > options.max_depth!, `depth ${causationDepth}`);
    case 'rate':
      throw new Error('rules of the kind rate are evaluated after all others');
  }
};

/**
 * What the rules decide about a delivery. `bytes` is the redacted body; null if nothing is redacted. `redactions` is the
 * number of parts that were replaced.
 */
export type RulesResult = {
  readonly verdicts: readonly GuardrailVerdict[];
  readonly reason: BlockReason | null;
  readonly bytes: Uint8Array | null;
  readonly redactions: number;
};

/** Evaluates the rules for which it was created, in their order. Ends with the first one that blocks. */
export type EvaluateRules = (subject: RuleSubject, body: CheckedBody) => RulesResult;

/** The body and the verdicts so far. */
type Progress = { content: BodyContent; redactions: number; readonly verdicts: GuardrailVerdict[]; readonly body: CheckedBody };

const TOO_LARGE = `the body cannot be redacted: it has, or would have, more than ${CHUNK_BYTES} bytes`;

/** Replaces the body by a redacted one. @returns whether that is possible */
const redactBody = (progress: Progress, rule: string, note: string, redacted: { bytes: Uint8Array; count: number }): boolean => {
  if (progress.body.bytes.length > CHUNK_BYTES || redacted.bytes.length > CHUNK_BYTES) {
    progress.verdicts.push(block(rule, TOO_LARGE));
    return false;
  }
  progress.content = bodyContent(redacted.bytes, progress.body.media, progress.body.json);
  progress.redactions += redacted.count;
  progress.verdicts.push({ rule, verdict: 'redact', note });
  return true;
};

/** Applies one rule. @returns why it blocks the delivery; null if it does not */
const applyRule = (progress: Progress, { name, kind, action, find }: CompiledRule, subject: RuleSubject): BlockReason | null => {
  const found = find(subject, progress.content);
  if (!found) {
    progress.verdicts.push(pass(name));
    return null;
  }
  if (action === 'redact') {
    const redacted = found.redact!();
    return redactBody(progress, name, `${redacted.count} replaced`, redacted) ? null : 'rules_failed';
  }
  progress.verdicts.push({ rule: name, verdict: action, note: found.note });
  return action === 'block' ? kind : null;
};

type CompiledRedaction = { readonly tag: string; readonly pattern: TextPattern };

/** Applies the redaction patterns of the tenant. @returns why the delivery is blocked; null if it is not */
const applyRedactions = (progress: Progress, redactions: readonly CompiledRedaction[]): BlockReason | null => {
  const counts = new Map<string, number>();
  const redacted = mapCounted(progress.content, (original) => {
    let [text, total] = [original, 0];
    for (const { tag, pattern } of redactions) {
      const replaced = pattern.replace(text, `[${tag}]`);
      if (replaced.count === 0) continue;
      text = replaced.text;
      total += replaced.count;
      counts.set(tag, (counts.get(tag) ?? 0) + replaced.count);
    }
    return { text, count: total };
  });
  if (redacted.count === 0) return null;
  const note = [...counts].map(([tag, count]) => `${tag}: ${count}`).join(', ');
  return redactBody(progress, 'redaction', note, redacted) ? null : 'rules_failed';
};

/**
 * Compiles rules and redaction patterns, which have been checked before. Rules of the kind `rate` must not be among
 * them. @throws Error if a pattern or a query is not usable
 */
export const compileRules = (rules: readonly GuardrailRule[], patterns: readonly RedactionPattern[], tools: RuleTools): EvaluateRules => {
  const compiled = rules.map((rule): CompiledRule => ({ ...rule, find: findOf(rule, tools) }));
  const redactions = patterns.map(({ pattern, tag }) => ({ tag, pattern: tools.compilePattern(pattern) }));
  return (subject, body) => {
    const progress: Progress = { content: bodyContent(body.bytes, body.media, body.json), redactions: 0, verdicts: [], body };
    let reason: BlockReason | null = null;
    for (const rule of compiled) {
      reason = applyRule(progress, rule, subject);
      if (reason) break;
    }
    if (!reason && redactions.length > 0) reason = applyRedactions(progress, redactions);
    const { content, verdicts } = progress;
    const isRedacted = !reason && content.bytes !== body.bytes;
    return { verdicts, reason, bytes: isRedacted ? content.bytes : null, redactions: isRedacted ? progress.redactions : 0 };
  };
};
