import { parentPort } from 'node:worker_threads';
import type { ReceivedContent } from '../../commands/deliveries/webhook-ports.ts';
import { bodyContent } from '../../domain/bodies/body-content.ts';
import { chunksOf, type ReceivedBody } from '../../domain/bodies/received-body.ts';
import { contentSignals, contentVerdicts } from '../../domain/guardrails/content-checks.ts';
import { compileRules, type EvaluateRules, type RuleSubject, type RulesResult } from '../../domain/guardrails/guardrail-evaluation.ts';
import type { RuleSet } from '../../domain/guardrails/rule-set.ts';
import { createLruMap } from '../lru-map.ts';
import { ruleTools } from './rule-tools.ts';

/** `set` is the number of the rule set, which is sent only with its first task. */
export type RulesTask = {
  readonly id: number;
  readonly set: number;
  readonly rules?: RuleSet;
  readonly subject: RuleSubject;
  readonly content: ReceivedContent;
};

/** `unknown`: the thread does not have the rule set. `failed`: the evaluation threw this error. */
type Reply = { readonly id: number } & ({ readonly result: RulesResult } | { readonly unknown: true } | { readonly failed: string });

/** `usedMs` is the thread's processor time until now, in milliseconds. */
export type RulesReply = Reply & { readonly usedMs: number };
export type ThreadReady = { readonly ready: true; readonly usedMs: number };

const MAX_SETS = 1_000;
const sets = createLruMap<number, EvaluateRules>({ capacity: MAX_SETS });

const joined = (body: ReceivedBody): Uint8Array => {
  if (body instanceof Uint8Array) return body;
  const bytes = new Uint8Array(body.length);
  let at = 0;
  for (const chunk of chunksOf(body)) {
    // The last chunk can be longer than the remaining part of the body.
    bytes.set(chunk.subarray(0, body.length - at), at);
    at += chunk.length;
  }
  return bytes;
};

const clockOf = ({ isTimed }: RuleSet) => (isTimed ? () => performance.now() : undefined);

const findOrCompile = ({ set, rules }: RulesTask): EvaluateRules | undefined => {
  const known = sets.get(set) ?? (rules && compileRules(rules.rules, rules.redactions, ruleTools, clockOf(rules)));
  if (known) sets.set(set, known);
  return known;
};

const checkContent = ({ needsChecks, media, json }: RulesTask['content'], bytes: Uint8Array): RulesResult['verdicts'] => {
  if (!needsChecks) return [];
  return contentVerdicts(bodyContent(bytes, media, json), contentSignals({ bytes, media, json }));
};

const run = (task: RulesTask): Reply => {
  const { id, subject, content } = task;
  try {
    const evaluate = findOrCompile(task);
    if (!evaluate) return { id, unknown: true };
    const bytes = joined(content.body);
    const result = evaluate(subject, { bytes, media: content.media, json: content.json });
    return { id, result: { ...result, verdicts: [...checkContent(content, bytes), ...result.verdicts] } };
  } catch (error) {
    return { id, failed: (error as Error).message };
  }
};

const usedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

parentPort!.on('message', (task: RulesTask) => {
  const reply = run(task);
  parentPort!.postMessage({ ...reply, usedMs: usedMs() } satisfies RulesReply);
});
parentPort!.postMessage({ ready: true, usedMs: usedMs() } satisfies ThreadReady);
