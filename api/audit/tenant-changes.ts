import type { Context } from 'hono';
import { z } from 'zod';
import type { Drafts } from '../../commands/sessions/draft.ts';
import { requireReader } from '../../commands/sessions/session-access.ts';
import { Id25, isId25 } from '../../domain/id.ts';
import { callerOf, type Principal } from '../../domain/principal.ts';
import { notFound, Refusal } from '../../domain/refusal.ts';
import { parseQuery } from '../http/mount.ts';
import { headerParameter, plainRoute, plainRoutes } from '../http/plain-route.ts';
import { PROBLEMS } from '../http/problem.ts';
import type { Runtime } from '../http/runtime.ts';
import { CHANGE_CATEGORIES, createChangeWatch } from './change-watch.ts';
import { type EventStream, openEventStream } from './event-stream.ts';

const MAX_STREAMS = 20;
const RECHECK_MS = 500;

/** The name of the messages about drafts, which are not events of the log. */
const DRAFT = 'draft';

const HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no' };

const Query = z.strictObject({
  after: z.string().max(64).optional().meta({
    description: 'A Consistency-Token: the stream begins with what changed after it. The header `Last-Event-ID` takes precedence',
  }),
  session_id: Id25.optional().meta({
    description: 'A session whose chat the caller may read: the stream also says when what its agent is writing has changed',
  }),
});

/** The open streams of this process. Close them before the server, because the server waits for open responses. */
export const createChangeStreams = () => {
  const streams = new Map<EventStream, string>();
  let isOver = false;
  return {
    isClosed: (): boolean => isOver,
    countOf: (caller: string): number => [...streams.values()].filter((one) => one === caller).length,
    add: (stream: EventStream, caller: string): void => void streams.set(stream, caller),
    remove: (stream: EventStream): void => void streams.delete(stream),
    /** Ends all streams. Afterwards, no stream can be opened. */
    close: (): void => {
      isOver = true;
      for (const stream of [...streams.keys()]) stream.end();
    },
  };
};

export type ChangeStreams = ReturnType<typeof createChangeStreams>;

type Deps = { readonly runtime: Runtime; readonly changeStreams: ChangeStreams; readonly drafts: Drafts };

const shuttingDown = (): Refusal => new Refusal('unavailable', 'This process is shutting down: connect again', { retryAfter: 1 });

/**
 * Checks that the caller may read the tenant, and is a member. A super-admin who is not a member is refused: each of
 * their reads is recorded, but a stream would be a single read that never ends.
 * @throws Refusal unauthorized, forbidden, not_found, tenant_suspended
 */
const assertMember = async (runtime: Runtime, principal: Principal, tenant_id: string): Promise<void> => {
  if (!isId25(tenant_id)) throw notFound();
  if ((await runtime.authorize(principal, 'tenant:read', { tenant_id })) === 'guest')
    throw new Refusal('forbidden', 'Changes are streamed to members of the tenant only: each read of a super-admin is recorded');
};

/**
 * Returns whether the error says that the caller may no longer read. Any other error means that the check itself
 * failed.
 */
const isRefused = (error: unknown): boolean => error instanceof Refusal && [401, 403, 404].includes(PROBLEMS[error.code].status);

/**
 * Checks twice a second whether the caller may still read the tenant, and otherwise ends the stream. Returns a function
 * that stops the checks.
 */
const checkRepeatedly = (c: Context, { runtime }: Deps, tenant_id: string, end: () => void): (() => void) => {
  let isChecking = false;
  const timer = setInterval(async () => {
    if (isChecking) return;
    isChecking = true;
    try {
      await assertMember(runtime, await runtime.identify(c), tenant_id);
    } catch (error) {
      if (isRefused(error)) end();
    }
    isChecking = false;
  }, RECHECK_MS).unref();
  return () => clearInterval(timer);
};

type Reader = { readonly principal: Principal; readonly tenant: string; readonly session_id: string };

/** Sends a message when the draft of a session changes, as long as the caller may read the session. */
const watchDraft = ({ runtime, drafts }: Deps, c: Context, { session_id, ...caller }: Reader, stream: EventStream): (() => void) => {
  const ctx = () => runtime.context({ ...caller, requestId: c.get('requestId'), ip: null, userAgent: null, ifMatch: null });
  const send = (): void => stream.send([{ category: DRAFT, token: null }]);
  const onChange = (): void => void requireReader(ctx(), session_id).then(send, () => {});
  return drafts.watch({ tenant: caller.tenant, session_id }, onChange);
};

const streamChanges = (deps: Deps) => {
  const { runtime, changeStreams } = deps;
  const changes = createChangeWatch(runtime.reads);
  return async (c: Context): Promise<Response> => {
    const principal = await runtime.authenticate(c);
    const { tenant_id = '' } = c.req.param();
    await assertMember(runtime, principal, tenant_id);
    const { after, session_id } = parseQuery(c, Query);
    if (changeStreams.isClosed()) throw shuttingDown();
    if (c.req.method === 'HEAD') return c.body(null, 200, HEADERS);
    const caller = callerOf(principal);
    if (changeStreams.countOf(caller) >= MAX_STREAMS)
      throw new Refusal('rate_limited', `A caller can have at most ${MAX_STREAMS} open streams of changes`, { retryAfter: 1 });
    const onEnd: (() => void)[] = [];
    const stream = openEventStream(() => {
      changeStreams.remove(stream);
      for (const stop of onEnd) stop();
    });
    changeStreams.add(stream, caller);
    onEnd.push(checkRepeatedly(c, deps, tenant_id, stream.end));
    onEnd.push(changes.watch(tenant_id, c.req.header('last-event-id') ?? after, stream.send));
    if (session_id !== undefined) onEnd.push(watchDraft(deps, c, { principal, tenant: tenant_id, session_id }, stream));
    return c.body(stream.body, 200, HEADERS);
  };
};

export const tenantChanges = plainRoutes([
  plainRoute({
    method: 'get',
    path: '/tenant/:tenant_id/changes',
    operationId: 'streamTenantChanges',
    summary: 'Stream what changes in the tenant',
    description: `Requires the permission \`tenant:read\`, as a member of the tenant. Each message of the stream (server-sent events) says that lists of the tenant can have changed: \`event\` is the category of the streams of the new events, \`id\` the Consistency-Token of the newest one, and \`data\` is always \`{}\`. A category has at most four messages a second. A \`heartbeat\` without an id follows every 15 seconds. \`Last-Event-ID\` resumes; if the service cannot tell what has changed since, it sends a message for every category. The stream ends when the caller may no longer read the tenant. A caller can have ${MAX_STREAMS} streams. The categories: ${CHANGE_CATEGORIES.map((name) => `\`${name}\``).join(', ')}; with \`session_id\`, \`${DRAFT}\` without an id, too.`,
    tag: 'Audit',
    query: Query,
    parameters: [headerParameter('Last-Event-ID', 'The `id` of the last message that the client got', false)],
    responses: {
      200: {
        description: 'The stream',
        content: {
          'text/event-stream': { schema: { type: 'string' }, example: 'event: delivery\nid: 48211:48211\ndata: {}\n\n' },
        },
      },
    },
    problems: [400, 401, 403, 404, 422, 429, 503],
    handler: streamChanges,
  }),
]);
