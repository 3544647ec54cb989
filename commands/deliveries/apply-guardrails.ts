import { bodyContent } from '../../domain/bodies/body-content.ts';
import { chunksOf } from '../../domain/bodies/received-body.ts';
import { CAUSE_NAME, namedCauses } from '../../domain/deliveries/causation.ts';
import { contentSignals, contentVerdicts } from '../../domain/guardrails/content-checks.ts';
import { block, pass } from '../../domain/guardrails/guardrail.ts';
import { MAX_CAUSATION_DEPTH } from '../../domain/guardrails/guardrail-rule.ts';
import type { RuleSet } from '../../domain/guardrails/rule-set.ts';
import { isUnavailable } from '../../domain/refusal.ts';
import { applyRates } from './apply-rates.ts';
import type { GuardedDelivery, GuardrailDecision, Progress } from './guarded-delivery.ts';
import type { GuardrailPort } from './webhook-ports.ts';

const HEADER = CAUSE_NAME.toLowerCase();

/** Null if the log is unavailable: the delivery is then accepted without looking up its causes. @throws any other error */
const withoutLog = (error: unknown): null => {
  if (isUnavailable(error)) return null;
  throw error;
};

/** Finds out which of `named` led to the present delivery. Blocks it if the chain of deliveries is too long. */
const checkLoop = async (port: GuardrailPort, progress: Progress, tenant: string, named: readonly string[]): Promise<void> => {
  const cause = await port.deepestCause(tenant, named).catch(withoutLog);
  if (!cause) return;
  progress.cause = cause;
  const isLoop = cause.depth > MAX_CAUSATION_DEPTH;
  progress.verdicts.push(isLoop ? block('loop', `more than ${MAX_CAUSATION_DEPTH} deliveries led to it`) : pass('loop'));
  if (isLoop) progress.reason = 'loop';
};

/** In bytes. Larger bodies are checked in another thread: up to a few milliseconds per KB could block this one for too long. */
const MAX_CHECKED_HERE = 16_384;
/** In bytes. Larger bodies are not checked: their senders would wait up to a quarter of a second per megabyte. */
export const MAX_CHECKED = 1 << 20;

/** Adds the verdicts. @returns whether the built-in checks of the content must be made in another thread instead */
const checkContent = ({ verdicts }: Progress, { request, media, json }: GuardedDelivery): boolean => {
  const { body } = request;
  if (body.length > MAX_CHECKED) {
    verdicts.push({ rule: 'content', verdict: 'label', note: 'not checked: the body is larger than 1 MiB' });
    return false;
  }
  if (!(body instanceof Uint8Array)) return true;
  const signals = contentSignals({ bytes: body, media, json });
  if (signals === 0) return false;
  if (body.length > MAX_CHECKED_HERE) return true;
  verdicts.push(...contentVerdicts(bodyContent(body, media, json), signals));
  return false;
};

const NOT_EVALUATED = 'the rules could not be evaluated in time';

/** A rule or redaction pattern can block or redact. If such rules cannot be evaluated, a delivery must not reach the agent. */
const isMandatory = ({ rules, redactions }: RuleSet): boolean => redactions.length > 0 || rules.some(({ action }) => action !== 'label');

type RulesToApply = { readonly set: RuleSet; readonly needsChecks: boolean };

const applyRules = async (port: GuardrailPort, progress: Progress, rules: RulesToApply, delivery: GuardedDelivery): Promise<void> => {
  const { set, needsChecks } = rules;
  const { integration, request, event, media, json } = delivery;
  const { body } = request;
  if (set.rules.length === 0 && set.redactions.length === 0 && !needsChecks) return;
  const owner = { tenant: integration.tenant_id, integration: integration.id };
  const subject = { size: body.length, event, causationDepth: progress.cause?.depth ?? 0 };
  const evaluating = port.evaluate(set, owner, subject, { body, media, json, needsChecks });
  const result = evaluating instanceof Promise ? await evaluating : evaluating;
  if (!result) {
    progress.verdicts.push(isMandatory(set) ? block('rules', NOT_EVALUATED) : { rule: 'rules', verdict: 'label', note: NOT_EVALUATED });
    progress.reason = isMandatory(set) ? 'rules_failed' : null;
    return;
  }
  progress.verdicts.push(...result.verdicts);
  progress.reason = result.reason;
  progress.bytes = result.bytes;
  progress.redactions = result.redactions;
};

const applyRuleSet = async (
  port: GuardrailPort,
  progress: Progress,
  { set, needsChecks }: RulesToApply,
  delivery: GuardedDelivery,
): Promise<GuardrailDecision> => {
  await applyRules(port, progress, { set, needsChecks }, delivery);
  if (!progress.reason && (set.rates.length > 0 || delivery.integration.provider === 'slack'))
    await applyRates(port, progress, set, delivery);
  return progress;
};

const isEmpty = ({ rules, redactions, rates }: RuleSet): boolean => rules.length === 0 && redactions.length === 0 && rates.length === 0;

/** A promise only if rules must be loaded or evaluated: for most deliveries, they are in memory and the list is empty. */
const applyChecks = (
  port: GuardrailPort,
  progress: Progress,
  delivery: GuardedDelivery,
): GuardrailDecision | Promise<GuardrailDecision> => {
  const needsChecks = checkContent(progress, delivery);
  const set = port.ruleSet(delivery.integration);
  if (set instanceof Promise) return set.then((loaded) => applyRuleSet(port, progress, { set: loaded, needsChecks }, delivery));
  if (!needsChecks && isEmpty(set) && delivery.integration.provider !== 'slack') return progress;
  return applyRuleSet(port, progress, { set, needsChecks }, delivery);
};

/**
 * First the built-in checks of content and causation, then the rules of tenant and integration, their rate limits, the agent's limits in
 * Slack. Stops at the first check that blocks or holds.
 * @throws Refusal unavailable
 */
export const applyGuardrails = (port: GuardrailPort, delivery: GuardedDelivery): GuardrailDecision | Promise<GuardrailDecision> => {
  const { integration, request } = delivery;
  const progress: Progress = { reason: null, verdicts: [], bytes: null, redactions: [], cause: null };
  const named = namedCauses(request.header(HEADER), chunksOf(request.body));
  if (named.length === 0) return applyChecks(port, progress, delivery);
  return checkLoop(port, progress, integration.tenant_id, named).then(() =>
    progress.reason ? progress : applyChecks(port, progress, delivery),
  );
};
