import { randomUUID } from 'node:crypto';
import { registerModel } from '../../commands/agents/model.ts';
import { firstPlanId } from '../../commands/billing/plan.ts';
import type { Ctx } from '../../commands/context.ts';
import { createUnique } from '../../commands/create-unique.ts';
import { keyId } from '../../commands/identity/api-key.ts';
import { registerUser } from '../../commands/tenants/tenant.ts';
import * as Plan from '../../domain/billing/plan.ts';
import { PLATFORM } from '../../domain/event.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { keyText, publicIdOf } from '../../domain/identity/api-key-format.ts';
import * as User from '../../domain/identity/user.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';

/** The event that ends the first start: after it nothing of this is done again. */
const MARK = 'platform-platform.first';
const ADMIN = 'admin@annals.localhost';

export type FirstKey = { readonly key: string; readonly tenant_id: string };

/** Whoever runs the platform pays for it: what stops here has run away. Plans with real limits are made by POST /admin/plans. */
const FREE: Plan.PlanFields = {
  slug: 'free',
  name: 'Free',
  monthly_usd: 0,
  price_id: null,
  limits: { agents: 1_000_000, members: 10_000, cron_jobs: 100_000, webhooks_per_minute: 10_000_000 },
};

const MODELS = [
  { provider: 'anthropic', slug: 'claude-sonnet', name: 'Claude Sonnet', pricing: { input_per_mtok: 3, output_per_mtok: 15 } },
  { provider: 'openai', slug: 'gpt-5', name: 'GPT-5', pricing: { input_per_mtok: 1.25, output_per_mtok: 10 } },
];

const unlessTaken = (error: unknown): void => {
  if (!(error instanceof Refusal) || error.code !== 'slug_taken') throw error;
};

const models = async (ctx: Ctx): Promise<void> => {
  for (const model of MODELS)
    await registerModel(ctx, {
      ...model,
      available_to_all_tenants: true,
      config: {},
      description: null,
      failover_chain: [],
      is_free: false,
      status: 'active',
    }).catch(unlessTaken);
};

const demoTenant = async (ctx: Ctx, owner_id: string): Promise<string> => {
  const fields = { name: 'Demo', slug: 'demo', plan_id: firstPlanId(ctx), billing_email: null };
  const claim = (generation: number) => (state: Tenant.Tenant) =>
    state.status === 'absent' ? Tenant.create({ ...fields, generation }, owner_id)(state) : [];
  const tenant = await createUnique(ctx, Tenant, { kind: 'tenant', key: 'demo', claim, tenantOf: (id) => id });
  return tenant.id;
};

/** The same in every process that begins on this log: several that do so at once make, and print, one and the same key. */
const firstKey = (ctx: Ctx): string => {
  const drawn = ctx.digest('the first key');
  return keyText(drawn.slice(0, 8), drawn.slice(8, 40));
};

const adminKey = async (ctx: Ctx, owner_id: string, key: string): Promise<string> => {
  const publicId = publicIdOf(key);
  if (!publicId) throw new Error('ANNALS_ADMIN_KEY is not a well-formed API key: its checksum is wrong');
  const bound = { kind: 'platform', tenant_id: null, agent_id: null, owner_id } as const;
  const fields = { ...bound, name: 'First key', expires_at: null, digest: ctx.digest(key) };
  await ctx.transact(ApiKey, keyId(ctx, publicId), ApiKey.create(fields), { expectNew: true });
  return key;
};

/**
 * The first start of an empty log: a plan, two models, a super-admin, the tenant `demo` and one platform key, which is shown before the
 * start is marked as done, so that a crash between can't swallow it. @returns null where that was done before
 */
export const seed = async (log: Log, ctx: Ctx, given: string | undefined, show: (first: FirstKey) => void): Promise<void> => {
  if (await log.last(MARK)) return;
  await ctx.transact(Plan, firstPlanId(ctx), Plan.create(FREE), { expectNew: true });
  await models(ctx);
  const admin = await registerUser(ctx, ADMIN, 'Administrator');
  await ctx.transact(User, admin.id, User.grantSuperAdmin('the first start'));
  const tenant_id = await demoTenant(ctx, admin.id);
  show({ key: await adminKey(ctx, admin.id, given ?? firstKey(ctx)), tenant_id });
  const meta = { tenant: PLATFORM, actor: ctx.actor, at: ctx.at(), v: 1 };
  await log.append(MARK, 'none', [{ id: randomUUID(), type: 'PlatformStarted', data: { tenant_id }, meta }]).catch((error) => {
    if (!(error instanceof LogError) || error.kind !== 'conflict') throw error;
  });
};
