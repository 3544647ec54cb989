import type { Context } from 'hono';
import { type AccessRefusal, type AccessRefusalEvent, category } from '../../domain/audit/access-refusal.ts';
import { type Actor, type DomainEvent, PLATFORM } from '../../domain/event.ts';
import type { Principal } from '../../domain/principal.ts';
import type { Refusal } from '../../domain/refusal.ts';
import { storedUserAgent } from '../../domain/user-agent.ts';
import { actorOf } from '../aggregates/request-context.ts';
import { type BatchDeps, batchedWriter } from './batched-writer.ts';
import { cappedCounter, type RefusalKind } from './capped-counter.ts';

type Origin = { readonly actor: Actor; readonly ip: string | null; readonly userAgent: string | null };
type RefusedRequest = { readonly access: AccessRefusal; readonly origin: Origin };
/** The origin is stored in the event's metadata. */
type EventWithOrigin = AccessRefusalEvent & { readonly origin: Origin | null };

const MAX_PATH_LENGTH = 512;
const TENANT_PATH = /^\/(?:tenant|v1\/tenants)\/(c[a-z0-9]{24})(?:\/agents\/(c[a-z0-9]{24}))?(?:\/|$)/;

const kind: RefusalKind<RefusedRequest, EventWithOrigin> = {
  single: ({ access, origin }) => ({ type: 'AccessRefused', data: access, origin }),
  summed: (data) => ({ type: 'AccessRefusalsCounted', data, origin: null }),
  callerOf: ({ origin }) => origin.actor.id,
};

const withoutOrigin = ({ type, data }: EventWithOrigin): DomainEvent => ({ type, data });

/**
 * Creates the writer that records requests of known callers that were refused with 403 or by a limit per tenant. They
 * are recorded after the response, in a stream of the tenant in the request's path. In each minute, 60 refusals are
 * recorded individually, and the others as one count per caller.
 */
export const accessRefusalWriter = (deps: BatchDeps & { readonly address: (c: Context) => string | null }) => {
  const { add, close } = batchedWriter<RefusedRequest, EventWithOrigin>(deps, {
    category,
    createCounter: () => cappedCounter(kind),
    meta: (id, { origin }) => origin ?? { actor: { kind: 'system', id } },
    toStored: withoutOrigin,
  });
  return {
    record: (c: Context, principal: Principal, { code, extra }: Refusal): void => {
      const [, tenant = extra.recordedIn ?? PLATFORM, agent_id = null] = TENANT_PATH.exec(c.req.path) ?? [];
      const permission = (extra.members?.permission as string | undefined) ?? null;
      const access = { method: c.req.method, path: c.req.path.slice(0, MAX_PATH_LENGTH), code, permission, agent_id };
      const actor = actorOf(principal);
      const userAgent = storedUserAgent(c.req.header('user-agent'));
      add(tenant, actor.id, { access, origin: { actor, ip: deps.address(c), userAgent } }, deps.now());
    },
    close,
  };
};
