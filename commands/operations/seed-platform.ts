import * as Plan from '../../domain/billing/plan.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { buildKey, publicIdOf } from '../../domain/identity/api-key-format.ts';
import * as User from '../../domain/identity/user.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { registerModel } from '../agents/model.ts';
import { defaultPlanId } from '../billing/plan.ts';
import type { Ctx } from '../context.ts';
import { createUnique } from '../create-unique.ts';
import { ADMIN_EMAIL, ADMIN_NAME } from '../identity/admin-key.ts';
import { apiKeyIdOf } from '../identity/api-key.ts';
import { registerUser } from '../identity/user.ts';

export type FirstKey = { readonly key: string; readonly tenant_id: string };

/** The plan of tenants created without a plan: the operator's own, so it only stops extreme use; POST /admin/plans creates lower limits. */
const FREE_PLAN: Plan.PlanFields = {
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

const ignoreSlugTaken = (error: unknown): void => {
  if (!(error instanceof Refusal) || error.code !== 'slug_taken') throw error;
};

const registerModels = async (ctx: Ctx): Promise<void> => {
  for (const model of MODELS)
    await registerModel(ctx, {
      ...model,
      available_to_all_tenants: true,
      config: {},
      description: null,
      failover_chain: [],
      is_free: false,
      status: 'active',
    }).catch(ignoreSlugTaken);
};

const createDemoTenant = async (ctx: Ctx, owner_id: string): Promise<string> => {
  const fields = { name: 'Demo', slug: 'demo', plan_id: defaultPlanId(ctx.secrets), billing_email: null };
  const claim = (generation: number) => (state: Tenant.Tenant) =>
    state.status === 'absent' ? Tenant.create({ ...fields, generation }, owner_id)(state) : [];
  const tenant = await createUnique(ctx, Tenant, { kind: 'tenant', key: 'demo', claim, tenantOf: (id) => id });
  return tenant.id;
};

/** Derives the key from a secret of the platform: processes that start at the same time on an empty log create and print the same key. */
const firstKeyText = (ctx: Ctx): string => {
  const characters = ctx.secrets.digest('the first key');
  return buildKey(characters.slice(0, 8), characters.slice(8, 40));
};

const createAdminKey = async (ctx: Ctx, owner_id: string, key: string): Promise<string> => {
  const publicId = publicIdOf(key);
  if (!publicId) throw new Error('ANNALS_ADMIN_KEY is not a well-formed API key: its checksum is wrong');
  const scope = { kind: 'platform', tenant_id: null, agent_id: null, owner_id } as const;
  const fields = { ...scope, name: 'First key', expires_at: null, digest: ctx.secrets.digest(key) };
  await ctx.transact(ApiKey, apiKeyIdOf(ctx, publicId), ApiKey.create(fields), { expectNew: true });
  return key;
};

/**
 * A plan, two models, a super-admin, the tenant `demo`, and a platform key (`adminKey` if given). What exists stays unchanged, so this can
 * be repeated after a crash.
 * @throws Error if `adminKey` is not a well-formed API key
 */
export const seedPlatform = async (ctx: Ctx, adminKey: string | undefined): Promise<FirstKey> => {
  await ctx.transact(Plan, defaultPlanId(ctx.secrets), Plan.create(FREE_PLAN), { expectNew: true });
  await registerModels(ctx);
  const admin = await registerUser(ctx, ADMIN_EMAIL, ADMIN_NAME);
  await ctx.transact(User, admin.id, User.grantSuperAdmin('the first start'));
  const tenant_id = await createDemoTenant(ctx, admin.id);
  return { key: await createAdminKey(ctx, admin.id, adminKey ?? firstKeyText(ctx)), tenant_id };
};
