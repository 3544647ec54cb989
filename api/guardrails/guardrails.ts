import { z } from 'zod';
import { integrationRules, replaceIntegrationRules, replaceTenantRules, tenantRules } from '../../commands/guardrails/guardrails.ts';
import { GuardrailRule, GuardrailRules } from '../../domain/guardrails/guardrail-rule.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery } from '../http/paging.ts';

const GUARDRAILS = '/tenant/:tenant_id/guardrails';
const INTEGRATION_GUARDRAILS = '/tenant/:tenant_id/webhook-integrations/:id/guardrails';
const reply = z.array(GuardrailRule);

export const guardrailOperations = {
  listGuardrails: operation({
    method: 'get',
    path: GUARDRAILS,
    summary: 'List the guardrail rules of the tenant',
    details: 'They apply to the deliveries to all webhook integrations, in this order.',
    permit: 'tenant:integrations:read',
    reply,
    query: asOfQuery,
    run: tenantRules,
  }),
  replaceGuardrails: operation({
    method: 'put',
    path: GUARDRAILS,
    summary: 'Replace the guardrail rules of the tenant',
    details:
      'They apply to later deliveries. The first rule that blocks is the last one that is evaluated. Rules of the kind `rate` come after all others: they count only what reaches the agent.',
    permit: 'tenant:integrations:write',
    body: GuardrailRules,
    reply,
    run: replaceTenantRules,
  }),
  listIntegrationGuardrails: operation({
    method: 'get',
    path: INTEGRATION_GUARDRAILS,
    summary: "List a webhook integration's guardrail rules",
    details: 'They apply after those of the tenant. The ETag is that of the integration.',
    permit: 'tenant:integrations:read',
    reply,
    query: asOfQuery,
    run: integrationRules,
  }),
  replaceIntegrationGuardrails: operation({
    method: 'put',
    path: INTEGRATION_GUARDRAILS,
    summary: "Replace a webhook integration's guardrail rules",
    details: 'They apply to later deliveries, after the rules of the tenant.',
    permit: 'tenant:integrations:write',
    body: GuardrailRules,
    reply,
    run: replaceIntegrationRules,
  }),
};
