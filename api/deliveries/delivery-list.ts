import { z } from 'zod';
import type { ReadPreviews } from '../../commands/deliveries/delivery-preview.ts';
import { reportOpener } from '../../commands/runners/report-attempt.ts';
import { BENCHMARK_PROVIDER } from '../../domain/deliveries/benchmark-delivery.ts';
import { CRON_PROVIDER } from '../../domain/deliveries/cron-delivery.ts';
import { MAIL_PROVIDER } from '../../domain/deliveries/mail-delivery.ts';
import { displayText, Instant } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import { PROVIDERS } from '../../domain/integrations/provider.ts';
import { invalid, notFound } from '../../domain/refusal.ts';
import { SKILL_PROVIDER } from '../../domain/skill-calls/skill-call.ts';
import type { IntegrationRef } from '../../projections/deliveries/delivery.queries.ts';
import { DeliveryRead, deliveries, MATCHED_SECRETS, OUTCOMES } from '../../projections/deliveries/delivery.ts';
import { deliveryPage, type ListTexts } from '../../projections/deliveries/delivery-list.queries.ts';
import { withDeliveryNames } from '../../projections/deliveries/delivery-names.queries.ts';
import { type AgentQueues, type DeliveryState, STATES, STATUSES } from '../../projections/deliveries/delivery-states.ts';
import type { Page } from '../../projections/read-model.ts';
import { readableAgents } from '../agents/readable-agents.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { Flag, listQuery, parseSort, TimeRange } from '../http/paging.ts';
import type { DeliveryStates } from './delivery-states.ts';

const SORTS = ['received_at'];

/**
 * Checks that the caller may read the deliveries of an agent: this needs the permission to read the agent's chats, or
 * all integrations of the tenant.
 * @throws Refusal not_found if the caller may not see the agent, otherwise forbidden
 */
export const checkReader = async (ctx: Ctx, agent_id: string): Promise<void> => {
  if (!(await ctx.may('tenant:integrations:read'))) await ctx.require('agent:chat:read', agent_id);
};

/** Returns an integration of the tenant, which may be disconnected. @throws Refusal not_found */
export const integrationOf = async (ctx: Ctx, integration_id: string): Promise<IntegrationRef & { agent_id: string }> => {
  const { state } = await ctx.load(Integration, integration_id);
  if (state.status === 'absent' || state.tenant_id !== ctx.tenant) throw notFound();
  return { tenant_id: ctx.tenant, integration_id, marksReplays: state.replay_guard !== 'off', agent_id: state.agent_id };
};

/**
 * Creates a function that returns whether an integration marks body replays (known bodies with another delivery id). It
 * loads each integration only once. For the webhook of a skill it returns false, because calls with equal bodies are
 * normal there.
 */
const replayMarking = (ctx: Ctx): ((integration_id: string) => Promise<boolean>) => {
  const known = new Map<string, Promise<boolean>>();
  return (id) => {
    const marking =
      known.get(id) ?? ctx.load(Integration, id).then(({ state }) => state.status !== 'absent' && state.replay_guard !== 'off');
    known.set(id, marking);
    return marking;
  };
};

type StateArgs = {
  readonly state?: DeliveryState | undefined;
  readonly outcome?: string | undefined;
  readonly status?: string | undefined;
};

/** Checks that a request names a state in one way only. @throws Refusal invalid */
export const assertOneState = ({ state, outcome, status }: StateArgs): void => {
  if (state === undefined || (outcome === undefined && status === undefined)) return;
  throw invalid('/query/state', 'says it all: leave out outcome and status');
};

export const PERMISSION_NOTE = "Requires the permission `tenant:integrations:read`, or `agent:chat:read` on the delivery's agent.";

const StateFilter = {
  state: z.enum(STATES).optional().meta({
    description:
      'Only deliveries in this state; not together with `outcome` or `status`. For `queued`, `running`, `retrying` and `held`, the broker is asked about at most 100 agents, as for `status`',
  }),
  outcome: z.enum(OUTCOMES).optional().meta({ description: 'Only deliveries with this outcome' }),
  status: z.enum(STATUSES).optional().meta({
    description:
      'Only deliveries with this status. For `queued`, `running` and `held`, the broker is asked about at most 100 agents: those whose deliveries have waited longest. Published deliveries to others count as `queued`',
  }),
  failed: Flag.optional().meta({ description: 'Whether to list only deliveries that failed at a runner and are not acknowledged' }),
  given_up_from: Instant.optional().meta({
    description: 'Only deliveries that were given up at or after this time, whenever they were received',
  }),
  ...TimeRange,
};

export const TenantFilter = {
  integration_id: Id25.optional().meta({ description: 'Only deliveries to this webhook integration' }),
  agent_id: Id25.optional().meta({ description: 'Only deliveries for this agent' }),
  provider: z
    .enum([...PROVIDERS, SKILL_PROVIDER, CRON_PROVIDER, BENCHMARK_PROVIDER, MAIL_PROVIDER])
    .optional()
    .meta({
      description:
        'Only deliveries of this provider, calls of skills (`skill`), messages of cron jobs (`cron`), or benchmark runs (`benchmark`); none of them is rejected',
    }),
  event: displayText(1, 128).optional().meta({ description: "Only deliveries with this event, by the provider's name of it" }),
  provider_delivery_id: displayText(1, 255).optional().meta({ description: "Only deliveries with this id, by the provider's choice" }),
  reason: displayText(1, 255).optional().meta({ description: 'Only deliveries that were blocked, rejected or given up for this reason' }),
  rule: displayText(1, 255).optional().meta({ description: 'Only deliveries that this rule or check has blocked' }),
  problem: z
    .string()
    .regex(/^([0-9a-f]{16}|none)$/, 'must be the `problem` of a delivery, or `none`')
    .optional()
    .meta({
      description: 'Only deliveries with this `problem`, which is why their last reported attempt failed; `none`: without a report',
      examples: ['b1946ac92492d234'],
    }),
  matched_secret: z.enum(MATCHED_SECRETS).optional().meta({ description: 'Only deliveries whose signature matched this secret' }),
  ...StateFilter,
};

const previewQuery = {
  preview: Flag.default(false).meta({ description: 'Whether to read the previews of the payloads, which takes longer' }),
};

/** Returns the functions that read the texts of a page. The previews are read only if the request asks for them. */
const textsFor = (ctx: Ctx, readPreviews: ReadPreviews, isPreviewWanted: boolean): ListTexts => ({
  previews: isPreviewWanted ? (ids) => readPreviews(ctx.tenant, ids) : undefined,
  openTexts: reportOpener(ctx),
});

/** Adds the states and the names to the deliveries of a page. */
const withStates = async (ctx: Ctx, page: Page, { complete }: DeliveryStates, queues: AgentQueues | undefined): Promise<Page> => {
  const deliveries = await withDeliveryNames(ctx.reads, ctx.tenant, JSON.parse(page.body) as z.output<typeof DeliveryRead>[]);
  return { ...page, body: JSON.stringify(await complete(ctx, deliveries, queues)) };
};

/** Creates the operations that list deliveries. `readPreviews` reads from the log, which alone contains payloads. */
export const deliveryListOperationsOf = (readPreviews: ReadPreviews, states: DeliveryStates) => ({
  listTenantDeliveries: operation({
    method: 'get',
    path: '/tenant/:tenant_id/deliveries',
    summary: 'List the deliveries of all webhook integrations',
    details:
      'Only those that the caller may see. Accepted and blocked calls of skills, messages of cron jobs and benchmark runs are deliveries, too.',
    permit: 'tenant:read',
    permissionNote:
      'Requires the permission `tenant:read`. Lists the deliveries of the agents on which the caller has `agent:chat:read`; with `tenant:integrations:read`, all.',
    query: listQuery({ ...TenantFilter, ...previewQuery }, SORTS),
    reply: z.array(DeliveryRead),
    projection: deliveries.name,
    run: async (ctx, { limit, cursor, sort, preview, ...filter }) => {
      assertOneState(filter);
      const agent_ids = await readableAgents(ctx);
      const window = { sort: parseSort(sort ?? '-received_at', SORTS), limit, cursor };
      const queues = await states.queuesFor(ctx, { ...filter, agent_ids });
      const selected = { ...filter, tenant_id: ctx.tenant, agent_ids, queues };
      const page = await deliveryPage(ctx.reads, selected, replayMarking(ctx), window, textsFor(ctx, readPreviews, preview));
      return withStates(ctx, page, states, queues);
    },
  }),
  listDeliveries: operation({
    method: 'get',
    path: '/tenant/:tenant_id/webhook-integrations/:id/deliveries',
    summary: "List a webhook integration's deliveries",
    permit: 'tenant:read',
    permissionNote: PERMISSION_NOTE,
    query: listQuery({ ...StateFilter, ...previewQuery }, SORTS),
    reply: z.array(DeliveryRead),
    projection: deliveries.name,
    run: async (ctx, { id, limit, cursor, sort, preview, ...filter }) => {
      assertOneState(filter);
      const { agent_id, marksReplays, ...integration } = await integrationOf(ctx, id);
      await checkReader(ctx, agent_id);
      const window = { sort: parseSort(sort ?? '-received_at', SORTS), limit, cursor };
      const queues = await states.queuesFor(ctx, filter);
      const selected = { ...filter, ...integration, queues };
      const page = await deliveryPage(ctx.reads, selected, () => marksReplays, window, textsFor(ctx, readPreviews, preview));
      return withStates(ctx, page, states, queues);
    },
  }),
});
