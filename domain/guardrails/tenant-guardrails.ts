import { jsonEqual } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import type { GuardrailRule } from './guardrail-rule.ts';

/** The guardrails for the deliveries of all integrations of a tenant. One stream per tenant, with its id. */
export const category = 'guardrails';

export type TenantGuardrailsEvent = { type: 'GuardrailsReplaced'; data: { rules: readonly GuardrailRule[] } };

export type TenantGuardrails = { readonly rules: readonly GuardrailRule[] };

export const initial: TenantGuardrails = { rules: [] };

export const evolve = (_: TenantGuardrails, { data }: Recorded<TenantGuardrailsEvent>): TenantGuardrails => ({ rules: data.rules });

export const replace =
  (rules: readonly GuardrailRule[]) =>
  (current: TenantGuardrails): TenantGuardrailsEvent[] =>
    jsonEqual(rules, current.rules) ? [] : [{ type: 'GuardrailsReplaced', data: { rules } }];
