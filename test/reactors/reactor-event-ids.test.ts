import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { anchorHead } from '../../commands/audit/anchor-heads.reactor.ts';
import { signHeads } from '../../commands/audit/sign-heads.reactor.ts';
import type { ReactorCtx } from '../../commands/context.ts';
import { sendMessage } from '../../commands/schedule/message-agents.reactor.ts';
import { SCHEDULER } from '../../commands/schedule/scheduler.reactor.ts';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import type { DomainEvent } from '../../domain/event.ts';
import { omit } from '../../domain/omit.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import * as SkillWebhook from '../../domain/skill-calls/skill-webhook.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { reactorContext } from '../../infra/aggregates/reactor-context.ts';
import { mailboxProvisioning } from '../../infra/mail/provision-mailboxes.ts';
import { renewals } from '../../infra/oauth/renew-tokens.ts';
import type { FollowerServices } from '../../infra/reactors/follow-events.ts';
import type { Reactor } from '../../infra/reactors/reactor.ts';
import { contextOf } from '../../infra/reactors/timed.ts';
import { createCaller } from '../../infra/schedule/call-targets.ts';
import { openTick } from '../../infra/schedule/scheduler.ts';
import { skillWebhookHiding } from '../../infra/skill-calls/hide-skill-webhooks.ts';
import { closeTenants } from '../fixtures/close-tenants.ts';
import { at, ID, TENANT } from '../fixtures/given.ts';
import { silentLogger, waitUntil } from '../fixtures/live-projections.ts';
import { type MemoryLog, memoryLog } from '../fixtures/memory-log.ts';

const AT = '2026-02-01T00:00:00.000Z';
const CAUSE = '00000000-0000-4000-8000-000000000001';
const HEAD = {
  head_id: CAUSE,
  tenant_id: TENANT,
  size: 7,
  root: 'r',
  position: 'p',
  at: AT,
  signature: 's',
  key_id: 'k',
  public_key: null,
};
const EARLIER = { size: 3, root: 'r', position: '0:0', at: AT, signature: 's', key_id: 'k', consistency: [], peaks: [] };
const meta = { tenant: TENANT, actor: { kind: 'system', id: 'test' }, at: at(0), v: 1 } as const;

const record = (log: MemoryLog, stream: string, event: DomainEvent, facts?: Record<string, unknown>) =>
  log.append(stream, 'none', [{ id: CAUSE, ...event, meta: { ...meta, ...(facts && { facts }) } }]);
const createTenant = async (log: MemoryLog): Promise<void> => {
  const ctx = reactorContext(log, { at: at(0) }).inTenant(TENANT);
  await ctx.transact(Tenant, TENANT, Tenant.create({ name: 'A', slug: 'a', plan_id: ID, billing_email: null, generation: 0 }, TENANT));
};

/** Runs a reactor that follows the log until it has appended an event. */
const follow = async <Services>(log: MemoryLog, { start }: Reactor<Services & FollowerServices>, services: Services) => {
  const positions = { read: async () => undefined, write: async () => {} };
  const before = log.events.length;
  const reactor = start({ ...services, log, logger: silentLogger, positions });
  await waitUntil(
    'it has appended an event',
    async () => log.events.length,
    (count) => count > before,
  );
  await reactor.close();
};

const sign = async (log: MemoryLog, ctx: ReactorCtx): Promise<void> => {
  const leaf = { leaf: 'ab'.repeat(32), position: log.events[0]!.position };
  const entriesAfter = async (_: string, position: string | null) => (position === null ? [leaf] : []);
  await signHeads(ctx.inTenant(TENANT), { entriesAfter, sign: () => ({ signature: 's', key_id: 'k' }) });
};

const FAILED: LinkedIdentity.LinkedIdentityEvent = { type: 'IdentityRefreshFailed', data: { error: 'e' } };

const post = async () => ({ host: 'anchors.example', status: 201 });

const MISSED: CronRun.CronRunEvent = { type: 'CronMissed', data: {} as never };
const RUN_TO_REPEAT: CronRun.CronRunEvent[] = [
  { type: 'CronFired', data: { job_id: ID, agent_id: ID, due_at: at(0), target_agent_id: ID } as never },
  { type: 'CronMessageSent', data: { job_id: ID, delivery_id: ID, message_id: CAUSE, expires_at: AT } },
  { type: 'CronAttemptFailed', data: { job_id: ID, status_code: null, error: 'e', ms: 0, next_attempt_at: AT } },
];
const ACTIVE = { inactiveReason: async () => null, isBudgetSpent: async () => false };

/** For each reactor: what it does, the stream to which it appends an event, and the id of this event. */
const REACTORS: Readonly<
  Record<string, { run: (log: MemoryLog, ctx: ReactorCtx) => Promise<unknown>; stream: string; id: string; actor?: string }>
> = {
  'close-tenants': {
    run: async (log, ctx) => {
      await createTenant(log);
      await ctx.inTenant(TENANT).transact(Tenant, TENANT, Tenant.close('a test', AT));
      await closeTenants(log, [TENANT], AT);
    },
    stream: `tenant-${TENANT}.${TENANT}`,
    id: 'fc5a7a4f-cac2-8843-ab47-c721f8a20954',
  },
  'hide-skill-webhooks': {
    run: async (log, ctx) => {
      const exposure = { tenant_id: TENANT, agent_id: TENANT, digest: '1'.repeat(64) };
      await ctx.inTenant(TENANT).transact(SkillWebhook, ID, SkillWebhook.expose(exposure));
      await record(log, `agent-${TENANT}.${TENANT}`, { type: 'AgentSkillRevoked', data: { skill_id: ID } });
      await follow(log, skillWebhookHiding, {});
    },
    stream: `skillwebhook-platform.${ID}`,
    id: '75f2dfd4-0711-86ac-a5b9-1e187a6e452c',
  },
  'provision-mailboxes': {
    run: async (log) => {
      await createTenant(log);
      await record(log, `agent-${TENANT}.${ID}`, { type: 'AgentCreated', data: { slug: 'a' } });
      const vault = { open: async () => ({ uniqueId: () => ID }) };
      await follow(log, mailboxProvisioning, { config: { mailDomain: 'mail.test', smtpUrl: undefined }, vault });
    },
    stream: `mailbox-platform.${ID}`,
    id: '475f0b83-a6cd-85e2-adbc-f6201d0be43f',
  },
  scheduler: {
    run: (log) =>
      openTick(log, { rows: async () => [] }, AT)
        .ctx.inTenant(TENANT)
        .transact(CronRun, ID, () => [MISSED]),
    stream: `cronrun-${TENANT}.${ID}`,
    id: 'ccf994a9-ffd6-839d-ae23-abd0179be115',
    actor: 'scheduler',
  },
  'call-targets': {
    run: async (log) => {
      await record(log, `cronrun-${TENANT}.${ID}`, { type: 'CronFired', data: { job_id: ID, agent_id: ID, due_at: at(0) } });
      await createCaller(log, { vault: {} } as never, () => Date.parse(AT))({ tenant_id: TENANT, id: ID, job_id: ID });
    },
    stream: `cronrun-${TENANT}.${ID}`,
    id: '47a94ebc-ffc9-872f-a88c-945841a12bde',
    actor: 'scheduler',
  },
  'message-agents, if a message is repeated': {
    run: async (log, ctx) => {
      await record(log, `delivery-${TENANT}.${ID}`, { type: 'CronJobTriggered', data: new Uint8Array() }, { agent_id: ID });
      await ctx.inTenant(TENANT).transact(CronRun, ID, () => RUN_TO_REPEAT);
      const messages = { agents: ACTIVE, createDelivery: async () => {}, messageLifetimeMs: 1 };
      const ofScheduler = { ...ctx.inTenant(TENANT).withActor(SCHEDULER), secrets: { uniqueId: () => ID } };
      await sendMessage(ofScheduler, messages, { id: ID, job_id: ID });
    },
    stream: `delivery-${TENANT}.${ID}`,
    id: '719186a3-6010-851d-a132-57fa77da1615',
    actor: 'scheduler',
  },
  'renew-tokens': {
    run: (log) =>
      contextOf(renewals, { log, now: () => Date.parse(AT) }, AT)
        .inTenant(TENANT)
        .transact(LinkedIdentity, ID, () => [FAILED]),
    stream: `linkedidentity-${TENANT}.${ID}`,
    id: '88cf738b-174b-8a48-ad95-6019e6a8feb3',
  },
  'sign-audit-heads': {
    run: async (log, ctx) => {
      await createTenant(log);
      await sign(log, ctx);
    },
    stream: `audithead-${TENANT}.${TENANT}`,
    id: '7a5b9f47-eab0-8dc0-a4a4-c8914fcfc816',
  },
  'sign-audit-heads, after a change of the leaf rule': {
    run: async (log, ctx) => {
      await createTenant(log);
      await record(log, `audithead-${TENANT}.${TENANT}`, { type: 'AuditHeadSigned', data: EARLIER });
      await sign(log, ctx);
    },
    stream: `auditrule-${TENANT}.${TENANT}`,
    id: 'e64078fc-db72-8f47-a0ab-0c9d90e1c2c6',
  },
  'anchor-audit-heads, version 1': {
    run: (_, ctx) => anchorHead(ctx, post, { ...HEAD, version: 1 }),
    stream: `auditanchor-${TENANT}.${TENANT}`,
    id: '2b6506b6-a737-8ef4-a2c8-e63a6fb44442',
  },
  'anchor-audit-heads, version 2': {
    run: (_, ctx) => anchorHead(ctx, post, { ...HEAD, version: 2 }),
    stream: `auditanchor-${TENANT}.${TENANT}`,
    id: '0e800f4e-542e-891e-a63d-68d84430c170',
  },
};

for (const [name, { run, stream, id, actor = 'annals' }] of Object.entries(REACTORS))
  test(`an event of ${name} has the same id in every version, so a repeated append is recognised`, async () => {
    const log = memoryLog();
    await run(log, reactorContext(log, { at: AT }));
    const last = log.events.findLast((event) => event.stream === stream)!;
    assert.is(last.event_id, id);
    const others = omit(last.meta, 'at');
    assert.equal(others, { tenant: TENANT, actor: { kind: 'system', id: actor }, v: 1 });
  });

test.run();
