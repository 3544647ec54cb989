import type { BodyVerdict } from '../bodies/body-inspection.ts';
import type { GuardrailKind } from './guardrail-rule.ts';

/** The name of a built-in check, or the kind of the rule. */
export type BlockReason =
  | 'paused'
  | 'agent_inactive'
  | 'not_json'
  | 'too_deep'
  | 'replay'
  | GuardrailKind
  /** The rules could not be evaluated in time, or could not redact the body. */
  | 'rules_failed'
  | 'slack_rpm_limit'
  | 'slack_rph_limit'
  | 'outside_working_hours'
  /** Earlier deliveries of the same source are held. */
  | 'earlier_held';

export type GuardrailVerdict = {
  readonly rule: string;
  readonly verdict: 'pass' | 'block' | 'redact' | 'label' | 'hold';
  readonly note: string | null;
};

/** The signature was verified before. */
export type GuardrailInput = {
  readonly integration: { readonly is_paused: boolean; readonly event_filter: readonly string[] };
  readonly isAgentActive: boolean;
  readonly event: string | null;
  readonly json: BodyVerdict;
  /** Why the body is not JSON, if it is not. */
  readonly fault?: string | undefined;
};

/** `reason`: why blocked or held; null if accepted. `guardrails`: the verdict of each check. */
export type GuardrailResult = { readonly reason: BlockReason | null; readonly guardrails: readonly GuardrailVerdict[] };

export const pass = (rule: string): GuardrailVerdict => ({ rule, verdict: 'pass', note: null });
export const block = (rule: string, note: string): GuardrailVerdict => ({ rule, verdict: 'block', note });

export const hold = (rule: string, note: string): GuardrailVerdict => ({ rule, verdict: 'hold', note });

const NOT_JSON = 'the body claims to be JSON and is not';

const JSON_VERDICTS: Readonly<Record<BodyVerdict, readonly GuardrailVerdict[]>> = {
  json: [pass('json'), pass('depth')],
  not_json: [block('json', NOT_JSON)],
  too_deep: [block('depth', 'nests deeper than 64 levels')],
  form: [],
};

const JSON_BLOCK_REASONS: Readonly<Record<BodyVerdict, BlockReason | null>> = {
  json: null,
  form: null,
  not_json: 'not_json',
  too_deep: 'too_deep',
};

/** A blocked delivery is still recorded and its provider gets a success response, but it is not sent to a runner. */
export const evaluateGuardrails = ({ integration, isAgentActive, event, json, fault }: GuardrailInput): GuardrailResult => {
  const guardrails = fault === undefined ? JSON_VERDICTS[json] : [block('json', `${NOT_JSON}: ${fault}`)];
  if (integration.is_paused) return { reason: 'paused', guardrails };
  if (!isAgentActive) return { reason: 'agent_inactive', guardrails };
  if (!passesFilter(integration.event_filter, event)) {
    return { reason: 'event_filter', guardrails: [...guardrails, block('event_filter', event ?? 'names no event')] };
  }
  return { reason: JSON_BLOCK_REASONS[json], guardrails };
};

const passesFilter = (filter: readonly string[], event: string | null): boolean =>
  filter.length === 0 || (event !== null && filter.includes(event));

export const labelsOf = (guardrails: readonly GuardrailVerdict[]): readonly string[] =>
  guardrails.filter(({ verdict }) => verdict === 'label').map(({ rule }) => rule);
