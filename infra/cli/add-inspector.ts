import { issueKey } from '../../commands/identity/api-key.ts';
import { registerUser } from '../../commands/identity/user.ts';
import type { Decision } from '../../domain/aggregate.ts';
import * as Plan from '../../domain/billing/plan.ts';
import * as Member from '../../domain/tenants/member.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Log } from '../eventstore/event-log.ts';
import { openOperatorContext } from './operator-context.ts';

const ACTOR = { kind: 'system', id: 'annals import --inspect' } as const;
const INSPECTOR_EMAIL = 'inspector@localhost';
const REASON = 'Imported for inspection';

/** Plans belong to the platform, so an export does not contain the tenant's own. */
const UNKNOWN_PLAN: Plan.PlanFields = {
  slug: 'not-exported',
  name: 'Not exported',
  monthly_usd: 0,
  price_id: null,
  limits: { agents: 1_000_000, members: 1_000_000, cron_jobs: 1_000_000, webhooks_per_minute: 1_000_000 },
};

/**
 * Adds a member and returns its read-only API key. Resumes a suspended tenant, which could not be read otherwise. Null if the tenant was
 * closed, because it cannot be read over HTTP.
 * @throws LogError
 */
export const addInspector = async (log: Log, masterKeyFile: string, tenant_id: string): Promise<string | null> => {
  const ctx = await openOperatorContext(log, masterKeyFile, ACTOR);
  const change = (decide: Decision<Tenant.Tenant, Tenant.TenantEvent>) => ctx.inTenant(tenant_id).transact(Tenant, tenant_id, decide);
  if (Tenant.isClosed((await change(() => [])).state)) return null;
  const { state } = await change(Tenant.resume(REASON));
  await ctx.transact(Plan, state.plan_id, Plan.create(UNKNOWN_PLAN));
  const { id: owner_id } = await registerUser(ctx, INSPECTOR_EMAIL, 'Inspector');
  await change(Member.add(owner_id, 'AUDITOR', 'OWNER'));
  const scope = { kind: 'tenant', tenant_id, agent_id: null, owner_id } as const;
  const options = { name: REASON, expires_at: null, read_only: true, role: 'AUDITOR' } as const;
  return (await issueKey(ctx, scope, options)).state.key;
};
