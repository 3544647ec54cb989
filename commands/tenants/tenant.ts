import { z } from 'zod';
import { SKILL_VISIBILITY_SCOPES } from '../../domain/agents/new-agent.ts';
import { applyResets } from '../../domain/aggregate.ts';
import * as Plan from '../../domain/billing/plan.ts';
import { displayText, Email, Slug } from '../../domain/fields.ts';
import { Id25, idOf } from '../../domain/id.ts';
import { invalid } from '../../domain/refusal.ts';
import { isLinkTemplate, MAX_EXTERNAL_LINKS } from '../../domain/tenants/external-link.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { assertKept } from '../../domain/tenants/tenant-erasure.ts';
import { defaultPlanId } from '../billing/plan.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { createUnique } from '../create-unique.ts';
import { issueKey } from '../identity/api-key.ts';
import { registerUser, userIdOf } from '../identity/user.ts';

export const TenantCreate = z
  .strictObject({
    name: displayText(1, 255).meta({ examples: ['Acme'] }),
    slug: Slug.meta({ description: 'The unique name, for programs; it never changes', examples: ['acme'] }),
    plan_id: idOf('plan', 'The plan; default: the first plan of the platform').optional(),
    billing_email: Email.nullable().default(null).meta({ description: 'Where invoices go' }),
    owner_email: Email.meta({ description: 'The e-mail address of the first OWNER', examples: ['ada@example.com'] }),
  })
  .meta({ id: 'TenantCreate' });

const EXTERNAL_MAIL = 'Whether agents may exchange mail with addresses outside the tenant';

export const ExternalLink = z
  .strictObject({
    label: displayText(1, 64).meta({ description: 'The text of the link', examples: ['Trace'] }),
    url: z
      .string()
      .max(1_024)
      .refine(
        isLinkTemplate,
        'must be an http or https URL; after the host it may contain {id}, {request_id}, {trace_id}, {delivery_id} and {tenant_id}',
      )
      .meta({
        description:
          'An http or https URL. After the host, it may contain `{id}` (of the delivery, session, agent or event that is shown), `{request_id}`, `{trace_id}`, `{delivery_id}` and `{tenant_id}`. Where one of these has no value, the link is not shown',
        examples: ['https://traces.example.com/trace/{trace_id}'],
      }),
  })
  .meta({ id: 'ExternalLink' });

export const AdminTenantUpdate = z
  .strictObject({
    name: displayText(1, 255).nullish(),
    plan_id: Id25.nullish().meta({ description: 'The id of the plan' }),
    billing_email: Email.nullish().meta({ description: 'Where invoices go' }),
    external_mail_enabled: z.boolean().nullish().meta({ description: EXTERNAL_MAIL }),
    paid: z.boolean().nullish().meta({ description: 'Whether the tenant pays; informational' }),
    reason: displayText(1, 1024).nullish().meta({ description: 'Why; the audit log shows it' }),
  })
  .meta({ id: 'AdminTenantUpdate', examples: [{ paid: true, reason: 'Invoice 2026-031 is paid' }] });

export const TenantUpdate = z
  .strictObject({
    name: displayText(1, 255).nullish(),
    billing_email: Email.nullish().meta({ description: 'Where invoices go' }),
    allow_superadmin_access: z
      .boolean()
      .nullish()
      .meta({ description: 'Whether super-admins may open the tenant for reading, with a reason and for a limited time' }),
    default_skill_visibility_scope: z
      .enum(SKILL_VISIBILITY_SCOPES)
      .nullish()
      .meta({ description: 'The `skill_visibility_scope` of new agents' }),
    external_mail_enabled: z.boolean().nullish().meta({ description: EXTERNAL_MAIL }),
    external_links: z
      .array(ExternalLink)
      .max(MAX_EXTERNAL_LINKS)
      .nullish()
      .meta({ description: 'Links to other systems that the console shows, such as one to your traces', examples: [[]] }),
  })
  .meta({ id: 'TenantUpdate', examples: [{ allow_superadmin_access: false }] });

export const Reason = z
  .strictObject({
    reason: displayText(1, 1024).meta({ description: 'Why; the audit log shows it', examples: ['The invoice of March is not paid'] }),
  })
  .meta({ id: 'Reason' });

const CLOSING_DAYS = 30;

/** The tenant in the URL path. @throws Refusal not_found if it does not exist or is closed for good */
export const loadTenant = async (ctx: Ctx): Promise<Loaded<Tenant.Tenant>> => {
  const loaded = await ctx.load(Tenant, ctx.tenant);
  Tenant.assertExists(loaded.state);
  return loaded;
};

/**
 * Loads the tenant for the platform, which also lists tenants that are closed for good.
 * @throws Refusal not_found if it does not exist or was erased
 */
export const loadKeptTenant = async (ctx: Ctx): Promise<Loaded<Tenant.Tenant>> => {
  const loaded = await ctx.load(Tenant, ctx.tenant);
  assertKept(loaded.state);
  return loaded;
};

/** Also creates the tenant's owner, and an API key of the owner (`owner_key` in the response). @throws Refusal slug_taken, invalid */
export const createTenant = async (
  ctx: Ctx,
  { owner_email, plan_id = defaultPlanId(ctx.secrets), ...fields }: Input<typeof TenantCreate>,
) => {
  const plan = await ctx.load(Plan, plan_id);
  if (plan.state.status === 'absent') throw invalid('/plan_id', 'there is no such plan', 'unknown_plan');
  const owner_id = userIdOf(ctx, owner_email);
  const tenant = await createUnique(ctx, Tenant, {
    kind: 'tenant',
    key: fields.slug,
    claim: (generation) => Tenant.create({ ...fields, plan_id, generation }, owner_id),
    isClosed: Tenant.isClosed,
    tenantOf: (id) => id,
  });
  // Register the user after the tenant is created: no user must be registered if the slug is taken.
  await registerUser(ctx, owner_email);
  const issued = await issueKey(
    ctx,
    { kind: 'tenant', tenant_id: tenant.id, agent_id: null, owner_id },
    { name: 'Owner', expires_at: null },
  );
  const state = { ...tenant.state, member_count: 1, agent_count: 0, owner_key: issued.state.key };
  return { ...tenant, state, position: issued.position };
};

/** @throws Refusal not_found, invalid if the plan does not exist */
export const updateTenantAsPlatform = async (
  ctx: Ctx,
  { tenant_id, reason = null, ...fields }: Input<typeof AdminTenantUpdate, 'tenant_id'>,
) => {
  if (fields.plan_id && (await ctx.load(Plan, fields.plan_id)).state.status === 'absent')
    throw invalid('/plan_id', 'there is no such plan', 'unknown_plan');
  const resets = { billing_email: null, external_mail_enabled: false, paid: false };
  return ctx.transact(Tenant, tenant_id, Tenant.update(applyResets(fields, resets), reason));
};

export const changeTenantSettings = (ctx: Ctx, { tenant_id, ...fields }: Input<typeof TenantUpdate, 'tenant_id'>) => {
  const resets = {
    billing_email: null,
    allow_superadmin_access: true,
    default_skill_visibility_scope: 'private_only',
    external_mail_enabled: false,
    external_links: [],
  } as const;
  return ctx.transact(Tenant, tenant_id, Tenant.changeSettings(applyResets(fields, resets)));
};

type WithReason = Input<typeof Reason, 'tenant_id'>;

export const suspendTenant = (ctx: Ctx, { tenant_id, reason }: WithReason) => ctx.transact(Tenant, tenant_id, Tenant.suspend(reason));

export const resumeTenant = (ctx: Ctx, { tenant_id, reason }: WithReason) => ctx.transact(Tenant, tenant_id, Tenant.resume(reason));

export const closeTenant = (ctx: Ctx, { tenant_id, reason }: WithReason) => {
  const closes_at = new Date(Date.parse(ctx.at()) + CLOSING_DAYS * 86_400_000).toISOString();
  return ctx.transact(Tenant, tenant_id, Tenant.close(reason, closes_at));
};

export const reopenTenant = (ctx: Ctx, { tenant_id, reason }: WithReason) => ctx.transact(Tenant, tenant_id, Tenant.reopen(reason));
