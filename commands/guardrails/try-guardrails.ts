import { z } from 'zod';
import { jsonOf, mediaOf } from '../../domain/bodies/body-inspection.ts';
import { createTrial, type TrialVerdict, verdictThen } from '../../domain/deliveries/guardrail-trial.ts';
import type { PreviewField } from '../../domain/deliveries/payload-preview.ts';
import { InstantText, instantOf } from '../../domain/fields.ts';
import type { RuleSubject, RulesResult, RuleTime } from '../../domain/guardrails/guardrail-evaluation.ts';
import { GuardrailRules } from '../../domain/guardrails/guardrail-rule.ts';
import { type RuleSet, ruleSetOf } from '../../domain/guardrails/rule-set.ts';
import { Id25 } from '../../domain/id.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import { invalid } from '../../domain/refusal.ts';
import type { Ctx } from '../context.ts';
import type { ReadDelivery, StoredDelivery } from '../deliveries/delivery.ts';
import { deliveryPreview } from '../deliveries/delivery-preview.ts';
import type { ReceivedContent } from '../deliveries/webhook-ports.ts';
import { assertUsablePatterns, CustomRedactionPatterns } from '../redaction/redaction-patterns.ts';
import { assertUsable } from './guardrails.ts';

/** The maximum number of deliveries on which rules are tried: the newest ones. */
export const MAX_TRIED = 200;
/** The maximum size of all bodies of one trial. */
const MAX_TRIED_BYTES = 32 << 20;
/** After this time, the remaining deliveries are not tried. */
const MAX_TRIAL_MS = 10_000;

export const GuardrailTrial = z
  .strictObject({
    rules: GuardrailRules.meta({ description: 'The rules to try, in place of those of the tenant and of the integrations' }),
    redaction_patterns: CustomRedactionPatterns.default([]).meta({
      description: 'The redaction patterns to try, in place of those of the tenant',
    }),
    from: InstantText.meta({
      description: 'Tries deliveries that were received at or after this time',
      examples: ['2026-03-14T00:00:00.000Z'],
    }),
    to: InstantText.meta({ description: 'Tries deliveries that were received before this time', examples: ['2026-03-15T00:00:00.000Z'] }),
    integration_id: Id25.optional().meta({ description: 'Tries only deliveries to this webhook integration' }),
  })
  .meta({ id: 'GuardrailTrial' });

/** @throws Refusal invalid if the tenant does not have the integration */
export const assertIntegration = async (
  ctx: Ctx,
  { integration_id }: Pick<z.output<typeof GuardrailTrial>, 'integration_id'>,
): Promise<void> => {
  if (integration_id === undefined) return;
  const { state } = await ctx.load(Integration, integration_id);
  if (state.status === 'absent' || state.tenant_id !== ctx.tenant)
    throw invalid('/integration_id', 'there is no such webhook integration', 'unknown_integration');
};

/**
 * For rules that do not count deliveries. @returns null if it takes too long
 * @throws Refusal unavailable
 */
export type EvaluateTrial = (
  tenant: string,
  rules: RuleSet,
  subject: RuleSubject,
  content: ReceivedContent,
) => RulesResult | null | Promise<RulesResult | null>;

export type TrialPorts = {
  readonly readDelivery: ReadDelivery;
  readonly evaluate: EvaluateTrial;
  /** Milliseconds of a clock that never goes back. */
  readonly clock: () => number;
};

/** The verdicts of the tried rules, and those from when the delivery was received. */
export type TrialRow = {
  readonly delivery_id: string;
  readonly event: string | null;
  readonly provider: string;
  readonly received_at: string;
  readonly preview: readonly PreviewField[];
  /** Null if not tried: the body is too large or cannot be read, or the trial took too long. */
  readonly verdict_now: TrialVerdict['verdict'] | null;
  readonly verdict_then: TrialVerdict['verdict'];
  readonly rule: string | null;
  readonly redactions: number;
  /** The time of the tried rules together; `times` has the time of each. */
  readonly microseconds: number;
  readonly times: readonly RuleTime[];
};

const NO_CONTENT: ReceivedContent = { body: new Uint8Array(0), media: 'json', json: 'json', needsChecks: false };

/** What is left for a trial: bytes, and the time until it ends. */
type Budget = { bytes: number; readonly until: number };

const bodyOf = async ({ facts, body }: StoredDelivery, budget: Budget): Promise<Uint8Array | null> => {
  if ('unreadable' in body || facts.size_bytes > budget.bytes) return null;
  budget.bytes -= facts.size_bytes;
  if (body instanceof Uint8Array) return body;
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
};

const contentOf = async (stored: StoredDelivery, { readsBody }: RuleSet, budget: Budget): Promise<ReceivedContent | null> => {
  if (!readsBody) return NO_CONTENT;
  const body = await bodyOf(stored, budget);
  const media = mediaOf(stored.facts.content_type);
  const json = body && media && jsonOf({ media, forms: 'fields' }, body);
  return json === 'json' || json === 'form' ? { body: body!, media: media!, json, needsChecks: false } : null;
};

const NOTHING_FOUND: RulesResult = { verdicts: [], reason: null, bytes: null, redactions: [] };

type Decided = ReturnType<ReturnType<typeof createTrial>>;

const rowOf = (delivery_id: string, stored: StoredDelivery, now: Decided | null, times: readonly RuleTime[]): TrialRow => ({
  delivery_id,
  event: stored.facts.event,
  provider: stored.facts.provider,
  received_at: stored.facts.received_at,
  preview: deliveryPreview(stored),
  verdict_now: now?.verdict ?? null,
  verdict_then: verdictThen(stored.facts).verdict,
  rule: now?.rule ?? null,
  redactions: now?.redactions.reduce((sum, { count }) => sum + count, 0) ?? 0,
  microseconds: times.reduce((sum, { microseconds }) => sum + microseconds, 0),
  times,
});

/** Tries rules on recorded deliveries, whose ids must be in the order of receipt. Nothing is recorded. @throws Refusal invalid, unavailable */
export const tryGuardrails = async (
  ctx: Ctx,
  { readDelivery, evaluate, clock }: TrialPorts,
  { rules, redaction_patterns }: z.output<typeof GuardrailTrial>,
  delivery_ids: readonly string[],
): Promise<TrialRow[]> => {
  const sources = { tenant: rules, integration: [], redactions: redaction_patterns };
  const set: RuleSet = { ...ruleSetOf(sources, { tenant: ctx.tenant, integration: '' }), isTimed: true };
  const decide = createTrial(set.rates);
  const budget: Budget = { bytes: MAX_TRIED_BYTES, until: clock() + MAX_TRIAL_MS };

  const evaluateOne = async (stored: StoredDelivery): Promise<RulesResult | null> => {
    const { facts } = stored;
    if (facts.reason === 'not_json' || facts.reason === 'too_deep' || (set.rules.length === 0 && !set.readsBody)) return NOTHING_FOUND;
    if (clock() > budget.until) return null;
    const content = await contentOf(stored, set, budget);
    const subject = { size: facts.size_bytes, event: facts.event, causationDepth: facts.cause?.depth ?? 0 };
    return content && evaluate(ctx.tenant, set, subject, content);
  };

  const rows: TrialRow[] = [];
  for (const id of delivery_ids) {
    const stored = await readDelivery(ctx.tenant, id);
    if (!stored) continue;
    const result = await evaluateOne(stored);
    rows.push(rowOf(id, stored, result && decide(stored.facts, result), result?.times ?? []));
  }
  return rows;
};

/** Returns the period of the trial in UTC. @throws Refusal invalid */
export const checkTrial = (
  ctx: Ctx,
  { rules, redaction_patterns, ...times }: z.output<typeof GuardrailTrial>,
): { readonly from: string; readonly to: string } => {
  const [from, to] = [instantOf(times.from), instantOf(times.to)];
  assertUsable(ctx, '/rules', rules);
  assertUsablePatterns(ctx, '/redaction_patterns', redaction_patterns);
  return { from, to };
};
