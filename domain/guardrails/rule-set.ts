import type { RedactionPattern } from '../redaction/redaction-patterns.ts';
import type { GuardrailKind, GuardrailRule } from './guardrail-rule.ts';
import type { RateLimit } from './sliding-window.ts';

export type RateRule = { readonly name: string; readonly action: GuardrailRule['action']; readonly limit: RateLimit };

/**
 * The rules for one integration: first the tenant's `rules`, then its own; `rates` are those of the kind `rate`. `readsBody`: a rule or
 * redaction pattern needs the content of the body. `isTimed`: an evaluation measures how long each rule takes.
 */
export type RuleSet = {
  readonly rules: readonly GuardrailRule[];
  readonly rates: readonly RateRule[];
  readonly redactions: readonly RedactionPattern[];
  readonly readsBody: boolean;
  readonly isTimed?: true;
};

/** Compared by identity (`===`): as long as a state does not change, it keeps its list objects. */
export type RuleSources = {
  readonly tenant: readonly GuardrailRule[];
  readonly integration: readonly GuardrailRule[];
  readonly redactions: readonly RedactionPattern[];
};

const CONTENT_KINDS: readonly GuardrailKind[] = ['json_path', 'pattern', 'injection'];

const ratesOf = (rules: readonly GuardrailRule[], owner: string): RateRule[] =>
  rules
    .filter(({ kind }) => kind === 'rate')
    .map(({ name, action, options: { max = 1, per_seconds = 1 } }) => ({
      name,
      action,
      limit: { key: `rule ${owner} ${per_seconds} ${name}`, max, windowMs: per_seconds * 1_000 },
    }));

/** Parts of the keys of rate limits. */
export type RuleOwners = { readonly tenant: string; readonly integration: string };

const readsBodyIn = ({ rules, redactions }: Pick<RuleSet, 'rules' | 'redactions'>): boolean =>
  redactions.length > 0 || rules.some(({ kind }) => CONTENT_KINDS.includes(kind));

export const ruleSetOf = ({ tenant, integration, redactions }: RuleSources, owners: RuleOwners): RuleSet => {
  const rules = [...tenant, ...integration].filter(({ kind }) => kind !== 'rate');
  const rates = [...ratesOf(tenant, owners.tenant), ...ratesOf(integration, owners.integration)];
  return { rules, rates, redactions, readsBody: readsBodyIn({ rules, redactions }) };
};

/** Caches the results of `releaseRules`, so that the rules of each set are compiled only once. */
const forReleases = new WeakMap<RuleSet, RuleSet>();

/** Returns the rules for releasing a blocked delivery: those that do not block. */
export const releaseRules = (set: RuleSet): RuleSet => {
  const known = forReleases.get(set);
  if (known) return known;
  const rules = set.rules.filter(({ action }) => action !== 'block');
  const { redactions } = set;
  const found: RuleSet = { rules, rates: [], redactions, readsBody: readsBodyIn({ rules, redactions }) };
  forReleases.set(set, found);
  return found;
};

export const redactsBodies = ({ rules, redactions }: RuleSet): boolean =>
  redactions.length > 0 || rules.some(({ action }) => action === 'redact');

/** As `ruleSetOf`, but cached as long as no source changes. `key`: the state object of the integration, a new one after its rules have changed. */
export const createRuleSets = () => {
  const known = new WeakMap<object, { readonly sources: RuleSources; readonly set: RuleSet }>();
  return (key: object, sources: RuleSources, owners: RuleOwners): RuleSet => {
    const found = known.get(key);
    if (found && found.sources.tenant === sources.tenant && found.sources.redactions === sources.redactions) return found.set;
    const set = ruleSetOf(sources, owners);
    known.set(key, { sources, set });
    return set;
  };
};
