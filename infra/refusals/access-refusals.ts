import type { Context } from 'hono';
import { category, type RefusedAccess, type RefusedAccessEvent } from '../../domain/audit/access-refusal.ts';
import { type Actor, type DomainEvent, PLATFORM } from '../../domain/event.ts';
import type { Principal } from '../../domain/principal.ts';
import type { Refusal } from '../../domain/refusal.ts';
import { actorOf } from '../aggregates/request-context.ts';
import { type BatchDeps, batchedWriter } from './batched-writer.ts';
import { cappedCounter, type RefusalKind } from './capped-counter.ts';

type From = { readonly actor: Actor; readonly ip: string | null; readonly userAgent: string | null };
type Refused = { readonly access: RefusedAccess; readonly from: From };
/** An event with whom it came from, which goes into its metadata. */
type Sourced = RefusedAccessEvent & { readonly from: From | null };

const PATH = 512;
const IN_TENANT = /^\/(?:tenant|v1\/tenants)\/(c[a-z0-9]{24})(?:\/agents\/(c[a-z0-9]{24}))?(?:\/|$)/;

const kind: RefusalKind<Refused, Sourced> = {
  one: ({ access, from }) => ({ type: 'AccessRefused', data: access, from }),
  counted: (data) => ({ type: 'AccessRefusalsCounted', data, from: null }),
  callerOf: ({ from }) => from.actor.id,
};

const bare = ({ type, data }: Sourced): DomainEvent => ({ type, data });

/**
 * Records what known callers were refused with 403, in the log of the tenant whose path they asked for, after the answer and capped: 60
 * a minute and caller one by one, beyond that summed.
 */
export const refusedAccesses = (deps: BatchDeps & { readonly address: (c: Context) => string | null }) => {
  const { note, close } = batchedWriter<Refused, Sourced>(deps, {
    category,
    tally: () => cappedCounter(kind),
    meta: (id, { from }) => from ?? { actor: { kind: 'system', id } },
    stored: bare,
  });
  return {
    refused: (c: Context, principal: Principal, { code, extra }: Refusal): void => {
      const [, tenant = PLATFORM, agent_id = null] = IN_TENANT.exec(c.req.path) ?? [];
      const permission = (extra.members?.permission as string | undefined) ?? null;
      const access = { method: c.req.method, path: c.req.path.slice(0, PATH), code, permission, agent_id };
      const actor = actorOf(principal);
      const from = { actor, ip: deps.address(c), userAgent: c.req.header('user-agent')?.slice(0, PATH) ?? null };
      note(tenant, actor.id, { access, from }, deps.now());
    },
    /** Records what is left. */
    close,
  };
};
