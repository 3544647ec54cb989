import type { Context } from 'hono';
import { type BodyChunks, missingPayload, payloadText, type ReadDelivery, unreadableBody } from '../../commands/deliveries/delivery.ts';
import type { ReadPreviews } from '../../commands/deliveries/delivery-preview.ts';
import { Redeliver, redeliver } from '../../commands/deliveries/redeliver.ts';
import { reportOpener } from '../../commands/runners/report-attempt.ts';
import { BENCHMARK_PROVIDER } from '../../domain/deliveries/benchmark-delivery.ts';
import { CRON_PROVIDER } from '../../domain/deliveries/cron-delivery.ts';
import { MAIL_PROVIDER } from '../../domain/deliveries/mail-delivery.ts';
import { Timestamp } from '../../domain/fields.ts';
import { isId25 } from '../../domain/id.ts';
import { notFound } from '../../domain/refusal.ts';
import { SKILL_PROVIDER } from '../../domain/skill-calls/skill-call.ts';
import { actorNamesOf } from '../../projections/audit/audit-log.queries.ts';
import { deliveryById, type FoundDelivery, type IntegrationRef, withReplayMark } from '../../projections/deliveries/delivery.queries.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import { DeliveryDetail } from '../../projections/deliveries/delivery-detail.ts';
import { withDeliveryNames } from '../../projections/deliveries/delivery-names.queries.ts';
import { lastFailureIn, withReports } from '../../projections/deliveries/delivery-reports.ts';
import { requestInfoOf } from '../http/authorize-request.ts';
import { matchesIfNoneMatch } from '../http/etag.ts';
import { assertNoQuery } from '../http/mount.ts';
import type { Ctx } from '../http/operation.ts';
import { operation, type Read } from '../http/operation.ts';
import { asOfQuery } from '../http/paging.ts';
import { plainRoute, plainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { abortOnError } from '../http/stream-response.ts';
import { deliveryAsOf } from './delivery-as-of.ts';
import { checkReader, deliveryListOperationsOf, integrationOf, PERMISSION_NOTE } from './delivery-list.ts';
import { type DeliveryStates, storedState } from './delivery-states.ts';
import { deliverySummaryOperationsOf } from './delivery-summary-operations.ts';
import { refuseRejected } from './refuse-rejected.ts';
import { SentMessage } from './sent-message.ts';

export const DELIVERY = '/tenant/:tenant_id/deliveries/:delivery_id';

const WITHOUT_INTEGRATION: readonly (string | null)[] = [SKILL_PROVIDER, CRON_PROVIDER, BENCHMARK_PROVIDER, MAIL_PROVIDER];

/**
 * Returns the integration of a delivery. Its id is null if the delivery comes from a skill, a cron job, a benchmark or
 * a mailbox; the repeated body of such a delivery is not a replay.
 */
const originOf = async (ctx: Ctx, { provider, integration_id }: FoundDelivery['delivery']): Promise<IntegrationRef> =>
  WITHOUT_INTEGRATION.includes(provider)
    ? { tenant_id: ctx.tenant, integration_id, marksReplays: false }
    : integrationOf(ctx, integration_id);

type DetailPorts = { readonly readDelivery: ReadDelivery; readonly states: DeliveryStates };

type Steps = FoundDelivery['delivery']['causation'];

/** Adds the names of the users who caused steps. They are left out if the audit log lacks them yet, or cannot be read. */
const withActorNames = (ctx: Ctx, steps: Steps): Promise<Steps> =>
  Promise.all(
    steps.map(async (step) => {
      if (step.actor.kind !== 'user') return step;
      const names = await actorNamesOf(ctx.reads, step.event_id).catch(() => null);
      return { ...step, actor: { ...step.actor, name: names?.name ?? names?.email ?? null } };
    }),
  );

const deliveryDetail = async (ctx: Ctx, id: string, { readDelivery, states }: DetailPorts): Promise<Read> => {
  const found = await (ctx.asOf ? deliveryAsOf(ctx, id, ctx.asOf) : deliveryById(ctx.reads, ctx.tenant, id));
  if (!found) return null;
  await checkReader(ctx, found.delivery.agent_id);
  const integration = await originOf(ctx, found.delivery);
  const reported = { id, first: found.delivery.causation[0]!.event_id, reports: found.reports };
  const { outcome, status, held, agent_id, integration_id } = found.delivery;
  const [marked, attempts, causation, recorded, [state], [names]] = await Promise.all([
    withReplayMark(ctx.reads, integration, found.delivery),
    withReports(found.delivery.attempts, reported, reportOpener(ctx)),
    withActorNames(ctx, found.delivery.causation),
    readDelivery(ctx.tenant, id),
    // The broker only knows the current state.
    ctx.asOf ? [storedState(found.delivery)] : states.complete(ctx, [{ id, outcome, status, held }]),
    withDeliveryNames(ctx.reads, ctx.tenant, [{ agent_id, integration_id }]),
  ]);
  const delivery = { ...marked, ...state, ...names, attempts, causation, last_failure: lastFailureIn(attempts) };
  const payload = recorded ? payloadText(recorded) : 'null';
  const traceparent = recorded?.facts.traceparent ?? null;
  const shown = JSON.stringify({ ...delivery, traceparent, payload_missing: missingPayload(recorded) });
  return { doc: `${shown.slice(0, -1)},"payload":${payload}}`, revision: found.revision };
};

const Redelivery = SentMessage.extend({
  requeued_at: Timestamp.meta({ description: 'When the redelivery was requested' }),
}).meta({ id: 'Redelivery' });

/**
 * Creates the operations that list and show deliveries. `readDelivery` reads the body of a delivery from the log,
 * because no read model contains bodies; `readPreviews` reads the previews of bodies.
 */
export const deliveryOperationsOf = (readDelivery: ReadDelivery, readPreviews: ReadPreviews, states: DeliveryStates) => ({
  ...deliveryListOperationsOf(readPreviews, states),
  ...deliverySummaryOperationsOf(states),
  getDelivery: operation({
    method: 'get',
    path: DELIVERY,
    summary: 'Read a delivery',
    details: 'With its payload, and how far it was processed.',
    permit: 'tenant:read',
    permissionNote: PERMISSION_NOTE,
    reply: DeliveryDetail,
    noConditionalGet: true,
    query: asOfQuery,
    projection: deliveries.name,
    run: (ctx, { delivery_id }) => deliveryDetail(ctx, delivery_id, { readDelivery, states }),
  }),
  redeliverDelivery: operation({
    method: 'post',
    path: `${DELIVERY}/redeliver`,
    summary: 'Send a delivery to a runner again',
    permit: 'tenant:integrations:write',
    body: Redeliver,
    reply: Redelivery,
    status: 202,
    run: async (ctx, input) => {
      await refuseRejected(ctx, input.delivery_id);
      return redeliver(ctx, input);
    },
  }),
});

type BodyDeps = { readonly runtime: Runtime; readonly readDelivery: ReadDelivery };

const getDeliveryBody =
  ({ runtime, readDelivery }: BodyDeps) =>
  async (c: Context): Promise<Response> => {
    const principal = await runtime.authenticate(c);
    const { tenant_id = '', delivery_id = '' } = c.req.param();
    const recorded = isId25(tenant_id) && isId25(delivery_id) ? await readDelivery(tenant_id, delivery_id) : null;
    if (!recorded || (principal.kind === 'runner' && !recorded.agents.includes(principal.agent_id))) throw notFound();
    const agent_id = principal.kind === 'runner' ? principal.agent_id : recorded.facts.agent_id;
    const as = await runtime.authorize(principal, { all: ['agent:chat:read'], runner: true }, { tenant_id, agent_id });
    if (as === 'guest') await runtime.recordSuperAdminRead(requestInfoOf(c, runtime, principal, tenant_id), `GET ${c.req.path}`);
    assertNoQuery(c);
    const { body } = recorded;
    if ('unreadable' in body) throw unreadableBody(body.unreadable);
    const headers = {
      'content-type': recorded.facts.content_type,
      'content-disposition': `attachment; filename="${delivery_id}"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': 'sandbox',
      'cache-control': 'private, no-store',
      etag: `"${recorded.facts.sha256}"`,
    };
    if (matchesIfNoneMatch(c.req.header('if-none-match'), headers.etag)) return c.body(null, 304, { etag: headers.etag });
    if (body instanceof Uint8Array) return c.body(Uint8Array.from(body), 200, headers);
    const contentLength = { 'content-length': String(recorded.facts.size_bytes) };
    if (c.req.method === 'HEAD') return c.body(null, 200, { ...headers, ...contentLength });
    // Read the first chunk before the response starts, because an error after the first byte cannot be reported.
    const first = await body.next();
    const bytes = abortOnError(c, runtime, concatenate(first.value ?? new Uint8Array(0), body));
    return c.body(ReadableStream.from(bytes), 200, { ...headers, ...contentLength });
  };

async function* concatenate(first: Uint8Array, rest: BodyChunks) {
  yield first;
  yield* rest;
}

/**
 * The route that returns the received bytes of a delivery. It is a plain route, because operations return only JSON.
 * Runners of the agent may use it, too.
 */
export const deliveryBodies = plainRoutes([
  plainRoute({
    method: 'get',
    path: `${DELIVERY}/body`,
    operationId: 'getDeliveryBody',
    summary: 'Read the bytes of a delivery',
    description:
      "Requires the permission `agent:chat:read` on the delivery's agent, or that agent's runner key. A response shorter than its `Content-Length` is incomplete.",
    tag: 'Webhooks in',
    responses: {
      200: {
        description: 'The bytes, with the content type that the provider sent',
        headers: { ETag: { description: 'The SHA-256 of the received bytes, for If-None-Match', schema: { type: 'string' } } },
        content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
      },
      304: { description: 'The bytes match the ETag in If-None-Match' },
    },
    problems: [401, 403, 404, 422, 429, 503],
    handler: getDeliveryBody,
  }),
]);
