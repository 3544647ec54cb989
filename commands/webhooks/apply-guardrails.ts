import type { RedactionHit } from '../../domain/redaction/redaction-patterns.ts';
import { Refusal } from '../../domain/refusal.ts';
import { isWorkingTime } from '../../domain/slack/working-hours.ts';
import { bodyContent } from '../../domain/webhooks/body-content.ts';
import type { InspectedBody, Media } from '../../domain/webhooks/body-inspection.ts';
import { CAUSE_NAME, type Cause, namedCauses } from '../../domain/webhooks/causation.ts';
import { contentSignals, contentVerdicts } from '../../domain/webhooks/content-checks.ts';
import { chunksOf } from '../../domain/webhooks/conventions/received-body.ts';
import { type BlockReason, block, type GuardrailVerdict, pass } from '../../domain/webhooks/guardrail.ts';
import { MAX_CAUSATION_DEPTH } from '../../domain/webhooks/guardrail-rule.ts';
import type { GuardedSource } from '../../domain/webhooks/integration.ts';
import type { RateRule, RuleSet } from '../../domain/webhooks/rule-set.ts';
import type { RateLimit } from '../../domain/webhooks/sliding-window.ts';
import type { GuardrailPort } from './webhook-ports.ts';
import type { WebhookRequest } from './webhook-request.ts';

/** A verified delivery that was not blocked by the checks of its form. `json` is the result of inspecting its body. */
export type GuardedDelivery = {
  readonly integration: GuardedSource;
  readonly request: Pick<WebhookRequest, 'header' | 'body'>;
  readonly receivedAt: string;
  readonly event: string | null;
  readonly media: Media;
  readonly json: Extract<InspectedBody['json'], 'json' | 'form'>;
};

/**
 * What the checks have decided. `bytes` is the redacted body; null if nothing was redacted. `cause` is the delivery
 * that led to this one.
 */
export type GuardrailDecision = {
  readonly reason: BlockReason | null;
  readonly verdicts: readonly GuardrailVerdict[];
  readonly bytes: Uint8Array | null;
  readonly redactions: readonly RedactionHit[];
  readonly cause: Cause | null;
};

type Progress = { -readonly [Name in keyof GuardrailDecision]: GuardrailDecision[Name] } & { verdicts: GuardrailVerdict[] };

const HEADER = CAUSE_NAME.toLowerCase();

/**
 * Returns null if the error says that the log is unavailable; the delivery is then accepted without looking up its
 * causes.
 * @throws any other error
 */
const withoutLog = (error: unknown): null => {
  if (error instanceof Refusal && error.code === 'unavailable') return null;
  throw error;
};

/**
 * Finds out which of the deliveries in `named` led to the present delivery. Blocks the present one if the chain of
 * deliveries is too long.
 */
const checkLoop = async (port: GuardrailPort, progress: Progress, tenant: string, named: readonly string[]): Promise<void> => {
  const cause = await port.deepestCause(tenant, named).catch(withoutLog);
  if (!cause) return;
  progress.cause = cause;
  const isLoop = cause.depth > MAX_CAUSATION_DEPTH;
  progress.verdicts.push(isLoop ? block('loop', `more than ${MAX_CAUSATION_DEPTH} deliveries led to it`) : pass('loop'));
  if (isLoop) progress.reason = 'loop';
};

/**
 * Bodies with more bytes than this are checked in another thread. The checks take up to a few milliseconds per KB, so a
 * larger body could block this thread for too long.
 */
const MAX_CHECKED_HERE = 16_384;
/**
 * Bodies with more bytes than this are not checked, because their senders would wait too long: up to a quarter of a
 * second per megabyte.
 */
export const MAX_CHECKED = 1 << 20;

/**
 * Adds the verdicts of the built-in checks of the content.
 * @returns whether these checks must be made in another thread instead
 */
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

/**
 * Returns whether a rule or a redaction pattern can block or redact deliveries. If such rules cannot be evaluated, a
 * delivery must not reach the agent.
 */
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

/** A limit that blocks deliveries, and the verdict of a delivery that it blocks. */
type BlockingLimit = { readonly limit: RateLimit; readonly rule: string; readonly reason: BlockReason };

const noteOf = ({ max, windowMs }: RateLimit): string => `the limit of ${max} in ${windowMs / 1_000} s is reached`;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/**
 * Blocks a delivery from Slack outside of the working hours of its agent.
 * @returns the agent's limits for deliveries from Slack
 */
const checkSlack = async (
  port: GuardrailPort,
  progress: Progress,
  { integration, receivedAt }: GuardedDelivery,
): Promise<BlockingLimit[]> => {
  const { tenant_id, agent_id } = integration;
  const config = await port.slackConfig(tenant_id, agent_id);
  if (!isWorkingTime(config, Date.parse(receivedAt))) {
    progress.verdicts.push(block('working_hours', 'outside the working hours of the agent'));
    progress.reason = 'outside_working_hours';
    return [];
  }
  const limitOf = (rule: 'slack_rpm_limit' | 'slack_rph_limit', windowMs: number): BlockingLimit[] => {
    const max = config[rule];
    return max === null ? [] : [{ rule, reason: rule, limit: { key: `${rule} ${agent_id}`, max, windowMs } }];
  };
  return [...limitOf('slack_rpm_limit', MINUTE_MS), ...limitOf('slack_rph_limit', HOUR_MS)];
};

const blockingLimit = ({ name, limit }: RateRule): BlockingLimit => ({ limit, rule: name, reason: 'rate' });

/**
 * Counts the delivery, and blocks or labels it if a limit is reached. Only deliveries that reach the agent are counted.
 */
const applyRates = async (port: GuardrailPort, progress: Progress, { rates }: RuleSet, delivery: GuardedDelivery): Promise<void> => {
  const { tenant_id, provider } = delivery.integration;
  const slack = provider === 'slack' ? await checkSlack(port, progress, delivery) : [];
  if (progress.reason) return;
  const blocking = [...rates.filter(({ action }) => action === 'block').map(blockingLimit), ...slack];
  if (blocking.length > 0) {
    const reached = await port.takeRates(
      tenant_id,
      blocking.map(({ limit }) => limit),
      delivery.receivedAt,
    );
    for (const [index, { rule, reason, limit }] of blocking.entries()) {
      if (index !== reached) progress.verdicts.push(pass(rule));
      else {
        progress.verdicts.push(block(rule, noteOf(limit)));
        progress.reason = reason;
        return;
      }
    }
  }
  for (const { name, action, limit } of rates) {
    if (action !== 'label') continue;
    const isReached = (await port.takeRates(tenant_id, [limit], delivery.receivedAt)) !== null;
    progress.verdicts.push(isReached ? { rule: name, verdict: 'label', note: noteOf(limit) } : pass(name));
  }
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

/**
 * Applies all checks. Returns a promise only if rules must be loaded or evaluated: for most deliveries, the rules are
 * in memory and the list of them is empty.
 */
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
 * Applies the built-in checks of a delivery's content and causation, then the rules of the tenant and of the
 * integration, then their rate limits and the agent's limits in Slack. Stops at the first check that blocks.
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
