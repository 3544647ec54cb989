import type { z } from 'zod';
import type { GuardrailRule, GuardrailRules } from '../../domain/guardrails/guardrail-rule.ts';
import * as TenantGuardrails from '../../domain/guardrails/tenant-guardrails.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Ctx, Loaded } from '../context.ts';
import { assertPattern, assertQuery } from '../pattern-compiler.ts';

type Rules = readonly GuardrailRule[];

/** Checks the patterns and queries of rules; `pointer` is the place in the request. @throws Refusal invalid */
export const assertUsable = (ctx: Ctx, pointer: string, rules: Rules): void => {
  for (const [index, { options }] of rules.entries()) {
    if (options.pattern !== undefined) assertPattern(ctx.checks, `${pointer}/${index}/options/pattern`, options.pattern);
    if (options.path !== undefined) assertQuery(ctx.checks, `${pointer}/${index}/options/path`, options.path);
  }
};

const rulesOfTenant = ({ state, ...loaded }: Loaded<TenantGuardrails.TenantGuardrails>): Loaded<Rules> => ({
  ...loaded,
  state: state.rules,
});
const rulesOfIntegration = ({ state, ...loaded }: Loaded<Integration.Integration>): Loaded<Rules> => ({
  ...loaded,
  state: state.guardrails,
});

/** The rules apply to the deliveries of all integrations. */
export const tenantRules = async (ctx: Ctx): Promise<Loaded<Rules>> => {
  const loaded = await ctx.load(TenantGuardrails, ctx.tenant);
  return rulesOfTenant({ ...loaded, position: loaded.position ?? (await ctx.load(Tenant, ctx.tenant)).position });
};

/** @throws Refusal invalid */
export const replaceTenantRules = async (
  ctx: Ctx,
  { items }: { readonly items: z.output<typeof GuardrailRules> },
): Promise<Loaded<Rules>> => {
  assertUsable(ctx, '', items);
  return rulesOfTenant(await ctx.transact(TenantGuardrails, ctx.tenant, TenantGuardrails.replace(items)));
};

/** @throws Refusal not_found */
export const integrationRules = async (ctx: Ctx, { id }: { readonly id: string }): Promise<Loaded<Rules>> => {
  const loaded = await ctx.load(Integration, id);
  Integration.assertConnected(loaded.state, ctx.tenant);
  return rulesOfIntegration(loaded);
};

/** @throws Refusal not_found, invalid */
export const replaceIntegrationRules = async (
  ctx: Ctx,
  { id, items }: { readonly id: string; readonly items: z.output<typeof GuardrailRules> },
): Promise<Loaded<Rules>> => {
  const { state } = await ctx.load(Integration, id);
  Integration.assertConnected(state, ctx.tenant);
  assertUsable(ctx, '', items);
  return rulesOfIntegration(await ctx.transact(Integration, id, Integration.replaceGuardrails(ctx.tenant, items)));
};
