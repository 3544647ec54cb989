import * as Agent from '../../domain/agents/agent.ts';
import * as Delivery from '../../domain/deliveries/delivery.ts';
import { expireHeld, MAX_HELD_MS, releaseHeld } from '../../domain/deliveries/release.ts';
import type { GuardedSource } from '../../domain/integrations/integration.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { SlackConfig } from '../../domain/slack/slack-config.ts';
import { isWorkingTime } from '../../domain/slack/working-hours.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { ReactorCtx } from '../context.ts';
import { limitsOf } from './apply-rates.ts';
import { acceptsDeliveries, isActive } from './delivery-eligibility.ts';
import { isFaultOfDelivery, prepareRelease, type ReleasePorts } from './release.ts';
import type { GuardrailPort } from './webhook-ports.ts';

/** `held_at`: when the delivery was received. */
export type HeldRef = { readonly tenant_id: string; readonly integration_id: string; readonly id: string; readonly held_at: string };

export type HeldPorts = Omit<ReleasePorts, 'sourceOf' | 'guardrails'> & {
  /** The current source. */
  readonly sourceOf: (tenant_id: string, facts: Delivery.DeliveryFacts) => Promise<GuardedSource & { readonly is_paused?: boolean }>;
  readonly guardrails: Pick<GuardrailPort, 'ruleSet' | 'slackConfig' | 'takeRates' | 'evaluate'>;
};

/** The tenant accepts deliveries and the agent is active. */
const canReceive = async ({ load }: ReactorCtx, tenant: string, agent_id: string): Promise<boolean> => {
  const [owner, agent] = await Promise.all([load(Tenant, tenant, { tenant }), load(Agent, agent_id, { tenant })]);
  return acceptsDeliveries(owner.state) && isActive(agent.state);
};

/** Counts against the current limits. @returns whether they allow the delivery */
const takeLimits = async (ports: HeldPorts, source: GuardedSource, facts: Delivery.DeliveryFacts, at: string): Promise<boolean> => {
  const { tenant_id, provider } = source;
  const slack: SlackConfig | null = provider === 'slack' ? await ports.guardrails.slackConfig(tenant_id, facts.agent_id) : null;
  if (slack && !isWorkingTime(slack, Date.parse(at))) return false;
  const limits = limitsOf(await ports.guardrails.ruleSet(source), slack, facts.agent_id).map(({ limit }) => limit);
  return limits.length === 0 || (await ports.guardrails.takeRates(tenant_id, limits, at)) === null;
};

/** Returns whether the delivery may continue. If so, this has counted the delivery against the limits. */
const mayGoOn = async (ctx: ReactorCtx, ports: HeldPorts, tenant_id: string, facts: Delivery.DeliveryFacts): Promise<boolean> => {
  if (!(await canReceive(ctx, tenant_id, facts.agent_id))) return false;
  const source = await ports.sourceOf(tenant_id, facts);
  return !source.is_paused && takeLimits(ports, source, facts, ctx.at());
};

/** `until` is null if it is not known when the delivery can continue. */
type Wait = { readonly until: string | null };

/** When the working hours begin; null if a rate holds the delivery, which may be changed at any time. */
const openingTime = ({ reason, held }: Delivery.DeliveryFacts): string | null =>
  reason === 'outside_working_hours' ? (held?.until ?? null) : null;

/**
 * Sends the delivery if the rules allow it now; gives it up if held too long. @returns null if it is not held any more
 * @throws Refusal conflict, unavailable, internal
 */
const handOn = async (ctx: ReactorCtx, ports: HeldPorts, { tenant_id: tenant, id, held_at }: HeldRef): Promise<Wait | null> => {
  const { state } = await ctx.load(Delivery, id, { tenant });
  if (state.status !== 'held') return null;
  const isExpired = Date.parse(ctx.at()) - Date.parse(held_at) > MAX_HELD_MS;
  if (!isExpired && !(await mayGoOn(ctx, ports, tenant, state.facts!))) return { until: openingTime(state.facts!) };
  const decide = isExpired ? expireHeld : releaseHeld(await prepareRelease(ports, { tenant_id: tenant, id }));
  await ctx.transact(Delivery, id, decide, { tenant });
  return null;
};

export type HeldRun = {
  readonly hasTime: () => boolean;
  /** Called if the delivery cannot continue now. @throws the error if no other delivery can continue either */
  readonly failed: (delivery: HeldRef, error: Error) => void;
};

/** `waits`: sources whose first delivery must wait; `failed`: those with a delivery that failed. `isComplete` is false if the time was not enough. */
export type HeldResult = {
  readonly waits: Map<string, Wait>;
  readonly failed: Set<string>;
  isComplete: boolean;
};

export const sourceKey = ({ tenant_id, integration_id }: Pick<HeldRef, 'tenant_id' | 'integration_id'>): string =>
  `${tenant_id} ${integration_id}`;

const isErased = (error: unknown): boolean => error instanceof Refusal && error.code === 'not_found';

/**
 * Passes on the deliveries in the order of their receipt: while one waits, the later ones of its source wait, too. One with a fault of its
 * own stays held, and delays no other.
 */
export const handOnHeld = async (ctx: ReactorCtx, ports: HeldPorts, held: readonly HeldRef[], run: HeldRun): Promise<HeldResult> => {
  const result: HeldResult = { waits: new Map(), failed: new Set(), isComplete: true };
  for (const one of held) {
    if (!run.hasTime()) return { ...result, isComplete: false };
    const source = sourceKey(one);
    if (result.waits.has(source)) continue;
    try {
      const wait = await handOn(ctx, ports, one);
      if (wait) result.waits.set(source, wait);
    } catch (error) {
      if (!isErased(error)) run.failed(one, error as Error);
      result.failed.add(source);
      if (!isFaultOfDelivery(error)) result.waits.set(source, { until: null });
    }
  }
  return result;
};
