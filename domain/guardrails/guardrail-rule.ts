import { z } from 'zod';
import { MAX_BODY_BYTES } from '../bodies/delivery-body.ts';
import { displayText, integer } from '../fields.ts';
import { DETECTORS } from '../redaction/detectors.ts';

/** The maximum number of rules of a tenant, and of an integration. */
export const MAX_RULES = 50;
/** A delivery is blocked if more deliveries led to it, one causing the next. AWS Lambda stops recursive calls at the same number. */
export const MAX_CAUSATION_DEPTH = 16;
const MAX_RATE = 100_000;
const MAX_RATE_SECONDS = 86_400;
const MAX_EVENTS = 100;

export const GUARDRAIL_KINDS = ['size', 'event_filter', 'json_path', 'pattern', 'injection', 'rate', 'loop'] as const;
export type GuardrailKind = (typeof GUARDRAIL_KINDS)[number];

export const GUARDRAIL_ACTIONS = ['block', 'redact', 'label', 'hold'] as const;
export type GuardrailAction = (typeof GUARDRAIL_ACTIONS)[number];

/** Names of the built-in checks. No rule may have one, because verdicts are identified by the name of the rule or check. */
export const RESERVED_NAMES: readonly string[] = [
  'json',
  'depth',
  'loop',
  'injection',
  'redaction',
  'event_filter',
  'replay',
  'slack_rpm_limit',
  'slack_rph_limit',
  'working_hours',
  'rules',
];

const Events = z.array(displayText(1, 128)).min(1).max(MAX_EVENTS);

const GuardrailOptions = z
  .strictObject({
    max_bytes: integer(1, MAX_BODY_BYTES)
      .optional()
      .meta({ description: 'For `size`: applies to a body with more bytes', examples: [100_000] }),
    allow: Events.optional().meta({ description: 'For `event_filter`: applies to every event but these' }),
    deny: Events.optional().meta({ description: 'For `event_filter`, in place of `allow`: applies to these events' }),
    path: displayText(1, 1024)
      .optional()
      .meta({ description: 'For `json_path`: a JSONPath query (RFC 9535). Applies if it selects a value' }),
    when: z
      .enum(['present', 'absent'])
      .optional()
      .meta({ description: 'For `json_path`: `absent` makes the rule apply if the query selects nothing. Default: `present`' }),
    pattern: displayText(1, 1024).optional().meta({
      description:
        'For `pattern`: a regular expression in the syntax of RE2, in which `\\b`, `\\w` and `\\d` know only ASCII. Applies if it matches a part of a text in the body: a string, a name or a number in JSON, a name or a value in a form',
    }),
    detectors: z
      .array(z.enum(DETECTORS))
      .min(1)
      .refine((names) => new Set(names).size === names.length, 'must not contain the same detector twice')
      .optional()
      .meta({ description: 'For `pattern`, in place of `pattern`: built-in detectors of secrets and personal data' }),
    max: integer(1, MAX_RATE).optional().meta({ description: 'For `rate`: applies once this many deliveries came in the time' }),
    per_seconds: integer(1, MAX_RATE_SECONDS).optional().meta({ description: 'For `rate`: the time, in seconds, as a sliding window' }),
    max_depth: integer(0, MAX_CAUSATION_DEPTH)
      .optional()
      .meta({ description: 'For `loop`: applies to a delivery that more deliveries than this led to' }),
  })
  .meta({ description: 'When the rule applies. Which options a rule must or may have depends on its kind; `injection` has none' });

type OptionName = keyof z.output<typeof GuardrailOptions>;
type KindRules = {
  readonly required: readonly OptionName[];
  readonly optional?: readonly OptionName[];
  readonly actions: readonly GuardrailAction[];
};

const BLOCK_OR_LABEL = ['block', 'label'] as const;
const BLOCK_REDACT_OR_LABEL = ['block', 'redact', 'label'] as const;

const KINDS: Readonly<Record<GuardrailKind, KindRules>> = {
  size: { required: ['max_bytes'], actions: BLOCK_OR_LABEL },
  event_filter: { required: [], optional: ['allow', 'deny'], actions: BLOCK_OR_LABEL },
  json_path: { required: ['path'], optional: ['when'], actions: BLOCK_REDACT_OR_LABEL },
  pattern: { required: [], optional: ['pattern', 'detectors'], actions: BLOCK_REDACT_OR_LABEL },
  injection: { required: [], actions: BLOCK_OR_LABEL },
  rate: { required: ['max', 'per_seconds'], actions: ['block', 'label', 'hold'] },
  loop: { required: ['max_depth'], actions: BLOCK_OR_LABEL },
};

type Fault = { readonly path: readonly string[]; readonly message: string };

type Fields = { readonly kind: GuardrailKind; readonly options: z.output<typeof GuardrailOptions>; readonly action: GuardrailAction };

const faultsOf = ({ kind, options, action }: Fields): Fault[] => {
  const { required, optional = [], actions } = KINDS[kind];
  const names = Object.keys(options).filter((name) => options[name as OptionName] !== undefined) as OptionName[];
  const faults = [
    ...required.filter((name) => !names.includes(name)).map((name) => ({ path: ['options', name], message: 'is missing' })),
    ...names
      .filter((name) => !required.includes(name) && !optional.includes(name))
      .map((name) => ({ path: ['options', name], message: `is not an option of the kind ${kind}` })),
  ];
  if (!actions.includes(action)) faults.push({ path: ['action'], message: `must be one of ${actions.join(', ')} for the kind ${kind}` });
  if (kind === 'pattern' && (options.pattern === undefined) === (options.detectors === undefined))
    faults.push({ path: ['options'], message: 'must have either pattern or detectors' });
  if (kind === 'event_filter' && (options.allow === undefined) === (options.deny === undefined))
    faults.push({ path: ['options'], message: 'must have either allow or deny' });
  if (options.when === 'absent' && action === 'redact')
    faults.push({ path: ['action'], message: 'cannot be redact if the rule applies to an absent value' });
  return faults;
};

export const GuardrailRule = z
  .strictObject({
    name: z
      .string()
      .regex(
        /^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9._-])?$/,
        'must have 1 to 64 letters, digits, inner spaces, dots, underscores or hyphens',
      )
      .refine((name) => !RESERVED_NAMES.includes(name), 'is the name of a built-in check')
      .meta({ description: 'The name of the rule in verdicts and labels', examples: ['no-secrets'] }),
    kind: z.enum(GUARDRAIL_KINDS).meta({
      description:
        '`size` of the body; `event_filter` by name of the event; `json_path` and `pattern` look for values and texts in the body; `injection` for texts that look like instructions to a language model; `rate` counts deliveries; `loop` how many deliveries led to this one',
      examples: ['pattern'],
    }),
    options: GuardrailOptions.meta({ examples: [{ pattern: 'AKIA[0-9A-Z]{16}' }] }),
    action: z.enum(GUARDRAIL_ACTIONS).meta({
      description:
        'What happens if the rule applies. `block`: the delivery is recorded and does not reach the agent. `redact` (`json_path`, `pattern`): what the rule finds is replaced. `label`: the message to the agent has the label. `hold` (`rate`): the delivery waits until the rule allows it, for at most seven days',
      examples: ['redact'],
    }),
  })
  .superRefine((rule, issues) => {
    for (const { path, message } of faultsOf(rule)) issues.addIssue({ code: 'custom', path: [...path], message });
  })
  .meta({ id: 'GuardrailRule' });

export type GuardrailRule = z.output<typeof GuardrailRule>;

/** Ordered, with different names. */
export const GuardrailRules = z
  .array(GuardrailRule)
  .max(MAX_RULES)
  .superRefine((rules, issues) => {
    for (const [index, { name }] of rules.entries())
      if (rules.findIndex((other) => other.name === name) < index)
        issues.addIssue({ code: 'custom', path: [index, 'name'], message: 'is the name of another rule' });
  });
