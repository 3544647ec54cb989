import * as Agent from '../../domain/agents/agent.ts';
import * as Plan from '../../domain/billing/plan.ts';
import { PLATFORM } from '../../domain/event.ts';
import { isId25 } from '../../domain/id.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { planIdOf } from '../billing/plan.ts';
import type { AggregateReader, Secrets } from '../context.ts';
import type { EligibilityPort } from './webhook-ports.ts';

export type EligibilityDeps = { readonly cache: AggregateReader; readonly uniqueId: Secrets['uniqueId'] };

export type DeliveryEligibility = Pick<EligibilityPort, 'integration' | 'isAgentActive'> & {
  /** Deliveries per minute, by the present plan of the tenant. */
  readonly quotaOf: (tenant: string) => number | Promise<number>;
};

export const acceptsDeliveries = ({ status, is_suspended }: Tenant.Tenant): boolean =>
  (status === 'active' || status === 'closing') && !is_suspended;

export const isActive = ({ status, is_active }: Agent.Agent): boolean => status === 'live' && is_active;

/** The functions return a promise only if the log must be read. */
export const createDeliveryEligibility = (deps: EligibilityDeps): DeliveryEligibility => {
  const { cache } = deps;

  const loadIntegration = async (id: string): Promise<Integration.Integration | null> => {
    const { state } = await cache.load(Integration, PLATFORM, id);
    if (state.status !== 'connected') return null;
    const tenant = await cache.load(Tenant, state.tenant_id, state.tenant_id);
    return acceptsDeliveries(tenant.state) ? state : null;
  };

  const loadQuota = async (tenant: string): Promise<number> => {
    const { state } = await cache.load(Tenant, tenant, tenant);
    return (await cache.load(Plan, PLATFORM, planIdOf(deps, state))).state.limits.webhooks_per_minute;
  };

  return {
    integration: (id) => {
      if (!isId25(id)) return null;
      const integration = cache.peek(Integration, PLATFORM, id)?.state;
      const tenant = integration && cache.peek(Tenant, integration.tenant_id, integration.tenant_id)?.state;
      if (!integration || !tenant) return loadIntegration(id);
      return integration.status === 'connected' && acceptsDeliveries(tenant) ? integration : null;
    },
    isAgentActive: (tenant, agent_id) => {
      const agent = cache.loadCached(Agent, tenant, agent_id);
      return agent instanceof Promise ? agent.then(({ state }) => isActive(state)) : isActive(agent.state);
    },
    quotaOf: (tenant) => {
      const known = cache.peek(Tenant, tenant, tenant)?.state;
      const plan = known && cache.peek(Plan, PLATFORM, planIdOf(deps, known))?.state;
      return plan?.limits.webhooks_per_minute ?? loadQuota(tenant);
    },
  };
};
