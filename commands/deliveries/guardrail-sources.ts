import * as Agent from '../../domain/agents/agent.ts';
import type { Cause } from '../../domain/deliveries/causation.ts';
import * as Delivery from '../../domain/deliveries/delivery.ts';
import type { GuardrailRule } from '../../domain/guardrails/guardrail-rule.ts';
import { createRuleSets, type RuleSet } from '../../domain/guardrails/rule-set.ts';
import * as TenantGuardrails from '../../domain/guardrails/tenant-guardrails.ts';
import type { GuardedSource } from '../../domain/integrations/integration.ts';
import * as RedactionPatterns from '../../domain/redaction/redaction-patterns.ts';
import * as SlackConfig from '../../domain/slack/slack-config.ts';
import type { AggregateReader } from '../context.ts';
import type { GuardrailPort } from './webhook-ports.ts';

const NO_RULES: RuleSet = { rules: [], rates: [], redactions: [], readsBody: false };

type TenantState = { readonly rules: readonly GuardrailRule[]; readonly redactions: readonly RedactionPatterns.RedactionPattern[] };

/** The functions return a promise only if the log must be read. */
export const createGuardrailSources = (cache: AggregateReader): Pick<GuardrailPort, 'ruleSet' | 'deepestCause' | 'slackConfig'> => {
  const ruleSets = createRuleSets();

  const combine = (integration: GuardedSource, { rules, redactions }: TenantState): RuleSet => {
    if (rules.length === 0 && redactions.length === 0 && integration.guardrails.length === 0) return NO_RULES;
    const { tenant_id: tenant, id, guardrails } = integration;
    return ruleSets(integration, { tenant: rules, integration: guardrails, redactions }, { tenant, integration: id });
  };

  const loadRuleSet = async (integration: GuardedSource): Promise<RuleSet> => {
    const tenant = integration.tenant_id;
    const [{ state: guardrails }, { state: redaction }] = await Promise.all([
      cache.load(TenantGuardrails, tenant, tenant),
      cache.load(RedactionPatterns, tenant, tenant),
    ]);
    return combine(integration, { rules: guardrails.rules, redactions: redaction.patterns });
  };

  const causeOf = async (tenant: string, delivery_id: string): Promise<Cause | null> => {
    const { facts } = (await cache.load(Delivery, tenant, delivery_id)).state;
    return facts && { delivery_id, depth: (facts.cause?.depth ?? 0) + 1 };
  };

  const loadSlackConfig = async (tenant: string, agent_id: string): Promise<SlackConfig.SlackConfig> => {
    const [config, agent] = await Promise.all([cache.load(SlackConfig, tenant, agent_id), cache.load(Agent, tenant, agent_id)]);
    return SlackConfig.settingsInEffect(config.state, agent.state.inherited_slack_config);
  };

  return {
    ruleSet: (integration) => {
      const tenant = integration.tenant_id;
      const guardrails = cache.peek(TenantGuardrails, tenant, tenant)?.state;
      const redaction = cache.peek(RedactionPatterns, tenant, tenant)?.state;
      if (!guardrails || !redaction) return loadRuleSet(integration);
      return combine(integration, { rules: guardrails.rules, redactions: redaction.patterns });
    },
    deepestCause: async (tenant, delivery_ids) => {
      const causes = (await Promise.all(delivery_ids.map((id) => causeOf(tenant, id)))).filter((cause) => cause !== null);
      return causes.reduce<Cause | null>((deepest, cause) => (deepest && deepest.depth >= cause.depth ? deepest : cause), null);
    },
    slackConfig: (tenant, agent_id) => {
      const config = cache.peek(SlackConfig, tenant, agent_id)?.state;
      const agent = cache.peek(Agent, tenant, agent_id)?.state;
      return config && agent ? SlackConfig.settingsInEffect(config, agent.inherited_slack_config) : loadSlackConfig(tenant, agent_id);
    },
  };
};
