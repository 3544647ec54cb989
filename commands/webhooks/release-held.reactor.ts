import * as Agent from '../../domain/agents/agent.ts';
import type { SlackConfig } from '../../domain/slack/slack-config.ts';
import { isWorkingTime } from '../../domain/slack/working-hours.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import * as Delivery from '../../domain/webhooks/delivery.ts';
import type { GuardedSource } from '../../domain/webhooks/integration.ts';
import { expireHeld, MAX_HELD_MS, releaseHeld } from '../../domain/webhooks/release.ts';
import type { ReactorCtx } from '../context.ts';
import { limitsOf } from './apply-rates.ts';
import { acceptsDeliveries, isActive } from './delivery-eligibility.ts';
import type { GuardrailPort } from './webhook-ports.ts';

/** A held delivery. `held_at` is when it was received. */
export type HeldRef = { readonly tenant_id: string; readonly integration_id: string; readonly id: string; readonly held_at: string };

export type HeldPorts = {
  /** Returns the present source of a delivery, and whether it is paused. */
  readonly sourceOf: (tenant_id: string, facts: Delivery.DeliveryFacts) => Promise<GuardedSource & { readonly is_paused?: boolean }>;
  readonly guardrails: Pick<GuardrailPort, 'ruleSet' | 'slackConfig' | 'takeRates'>;
};

/** Returns whether the tenant and the agent of a delivery can get it. */
const canReceive = async ({ load }: ReactorCtx, tenant: string, agent_id: string): Promise<boolean> => {
  const [owner, agent] = await Promise.all([load(Tenant, tenant, { tenant }), load(Agent, agent_id, { tenant })]);
  return acceptsDeliveries(owner.state) && isActive(agent.state);
};

/** Counts a held delivery against the present limits. @returns whether they allow it */
const takeLimits = async (ports: HeldPorts, source: GuardedSource, facts: Delivery.DeliveryFacts, at: string): Promise<boolean> => {
  const { tenant_id, provider } = source;
  const slack: SlackConfig | null = provider === 'slack' ? await ports.guardrails.slackConfig(tenant_id, facts.agent_id) : null;
  if (slack && !isWorkingTime(slack, Date.parse(at))) return false;
  const limits = limitsOf(await ports.guardrails.ruleSet(source), slack, facts.agent_id).map(({ limit }) => limit);
  return limits.length === 0 || (await ports.guardrails.takeRates(tenant_id, limits, at)) === null;
};

/** Returns whether a held delivery may go on now. If so, it was counted against the limits. */
const mayGoOn = async (ctx: ReactorCtx, ports: HeldPorts, tenant_id: string, facts: Delivery.DeliveryFacts): Promise<boolean> => {
  if (!(await canReceive(ctx, tenant_id, facts.agent_id))) return false;
  const source = await ports.sourceOf(tenant_id, facts);
  return !source.is_paused && takeLimits(ports, source, facts, ctx.at());
};

/**
 * Sends one held delivery to its agent if the rules allow it now, or gives it up if it was held too long.
 * @returns whether it is not held any more
 * @throws Refusal unavailable
 */
const handOn = async (ctx: ReactorCtx, ports: HeldPorts, { tenant_id: tenant, id, held_at }: HeldRef): Promise<boolean> => {
  const { state } = await ctx.load(Delivery, id, { tenant });
  if (state.status !== 'held') return true;
  const isExpired = Date.parse(ctx.at()) - Date.parse(held_at) > MAX_HELD_MS;
  if (!isExpired && !(await mayGoOn(ctx, ports, tenant, state.facts!))) return false;
  await ctx.transact(Delivery, id, isExpired ? expireHeld : releaseHeld, { tenant });
  return true;
};

/**
 * Sends those held deliveries to their agents that the rules allow now. They must be in the order of their receipt. While
 * one waits, so do the later ones of its source.
 * @returns the number of those that are not held any more
 */
export const handOnHeld = async (ctx: ReactorCtx, ports: HeldPorts, held: readonly HeldRef[]): Promise<number> => {
  const waiting = new Set<string>();
  let count = 0;
  for (const one of held) {
    const source = `${one.tenant_id} ${one.integration_id}`;
    if (waiting.has(source)) continue;
    if (await handOn(ctx, ports, one)) count++;
    else waiting.add(source);
  }
  return count;
};
