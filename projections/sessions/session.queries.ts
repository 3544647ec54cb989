import { defineList, defineQuery } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { type SessionDoc, table } from './session.ts';

type AgentSessions = { readonly tenant_id: string; readonly agent_id: string; readonly status: string | undefined };

const sessionList = defineList({ table }, (db, { tenant_id, agent_id, status }: AgentSessions) =>
  db
    .selectFrom('sessions.sessions as session')
    .where('session.tenant_id', '=', tenant_id)
    .where('session.agent_id', '=', agent_id)
    .$if(status !== undefined, (query) => query.where('session.status', '=', status!)),
);

export const sessionPage = (reads: Reads, sessions: AgentSessions, window: PageWindow): Promise<Page> =>
  reads.page(sessionList, sessions, window);

/** Sessions of a tenant. With `agent_ids`, only those of these agents. */
type TenantSessions = SessionFilter & { readonly tenant_id: string; readonly agent_ids: readonly string[] | undefined };

const tenantSessionList = defineList({ table }, (db, { tenant_id, agent_ids, agent_id, status, user_id, from, to }: TenantSessions) =>
  db
    .selectFrom('sessions.sessions as session')
    .where('session.tenant_id', '=', tenant_id)
    .$if(agent_ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('session.agent_id', '=', fn.any(val(agent_ids!)))))
    .$if(agent_id !== undefined, (query) => query.where('session.agent_id', '=', agent_id!))
    .$if(status !== undefined, (query) => query.where('session.status', '=', status!))
    .$if(user_id !== undefined, (query) => query.where('session.shown_user_id', '=', user_id!))
    .$if(from !== undefined, (query) => query.where('session.created_at', '>=', from!))
    .$if(to !== undefined, (query) => query.where('session.created_at', '<', to!)),
);

export const tenantSessionPage = (reads: Reads, selected: TenantSessions, window: PageWindow): Promise<Page> =>
  reads.page(tenantSessionList, selected, window);

/** The maximum number of sessions that `sessionsOfDelivery` returns. */
const MAX_SESSIONS_OF_DELIVERY = 100;

const deliverySessions = defineQuery((db, { tenant_id, delivery_id }: { tenant_id: string; delivery_id: string }) =>
  db
    .selectFrom('sessions.sessions as session')
    .select('session.id')
    .where('session.tenant_id', '=', tenant_id)
    .where('session.delivery_id', '=', delivery_id)
    .limit(({ lit }) => lit(MAX_SESSIONS_OF_DELIVERY)),
);

/** Returns the ids of the sessions that process a delivery, in no particular order. */
export const sessionsOfDelivery = async (reads: Reads, tenant_id: string, delivery_id: string): Promise<string[]> =>
  (await reads.rows(deliverySessions, { tenant_id, delivery_id })).map(({ id }) => id);

/** The maximum number of sessions that `sessionsDueAt` returns. */
export const MAX_DUE_SESSIONS = 200;

const dueSessions = defineQuery((db, { at }: { at: string }) =>
  db
    .selectFrom('sessions.sessions as session')
    .select(['session.tenant_id', 'session.id'])
    .where('session.until', '<=', at)
    .orderBy('session.until')
    .limit(({ lit }) => lit(MAX_DUE_SESSIONS)),
);

/** Returns the open sessions that must expire at the time `at`, beginning with those that have been due for longest. */
export const sessionsDueAt = (reads: Pick<Reads, 'rows'>, at: string): Promise<{ tenant_id: string; id: string }[]> =>
  reads.rows(dueSessions, { at });

export type SessionFilter = {
  readonly agent_id?: string | undefined;
  readonly status?: string | undefined;
  readonly user_id?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

/** Selects sessions of a tenant. A page skips the first `skipped` sessions. */
type SelectedSessions = SessionFilter & { readonly tenant_id: string };

const numberedPage = defineQuery(
  (
    db,
    {
      tenant_id,
      agent_id,
      status,
      user_id,
      from,
      to,
      skipped,
      size,
    }: SelectedSessions & { readonly skipped: number; readonly size: number },
  ) =>
    db
      .selectFrom('sessions.sessions as session')
      .select('session.doc')
      .where('session.tenant_id', '=', tenant_id)
      .$if(agent_id !== undefined, (query) => query.where('session.agent_id', '=', agent_id!))
      .$if(status !== undefined, (query) => query.where('session.status', '=', status!))
      .$if(user_id !== undefined, (query) => query.where('session.shown_user_id', '=', user_id!))
      .$if(from !== undefined, (query) => query.where('session.created_at', '>=', from!))
      .$if(to !== undefined, (query) => query.where('session.created_at', '<', to!))
      .orderBy('session.created_at', 'desc')
      .orderBy('session.id', 'desc')
      .offset(skipped)
      .limit(size),
);

/** The sessions that are counted; with `agent_ids`, only those of these agents. */
type CountedSessions = SessionFilter & { readonly agent_ids?: readonly string[] | undefined };

const selectedCount = defineQuery((db, selected: SelectedSessions & CountedSessions) => {
  const { tenant_id, agent_ids, agent_id, status, user_id, from, to } = selected;
  return db
    .selectFrom('sessions.sessions as session')
    .select(({ cast, fn }) => cast<number>(fn.countAll(), 'integer').as('count'))
    .where('session.tenant_id', '=', tenant_id)
    .$if(agent_ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('session.agent_id', '=', fn.any(val(agent_ids!)))))
    .$if(agent_id !== undefined, (query) => query.where('session.agent_id', '=', agent_id!))
    .$if(status !== undefined, (query) => query.where('session.status', '=', status!))
    .$if(user_id !== undefined, (query) => query.where('session.shown_user_id', '=', user_id!))
    .$if(from !== undefined, (query) => query.where('session.created_at', '>=', from!))
    .$if(to !== undefined, (query) => query.where('session.created_at', '<', to!));
});

/** Returns the sessions of a numbered page, newest first, without names. `page` starts at 1. */
export const sessionsOnPage = async (
  reads: Reads,
  tenant_id: string,
  filter: SessionFilter,
  { page, per_page }: { readonly page: number; readonly per_page: number },
): Promise<SessionDoc[]> =>
  (await reads.rows(numberedPage, { ...filter, tenant_id, skipped: (page - 1) * per_page, size: per_page })).map(
    ({ doc }) => JSON.parse(doc) as SessionDoc,
  );

/** Counts the sessions of a tenant that the filter selects. Without a filter, use the counter of the projection. */
export const countSessions = async (reads: Reads, tenant_id: string, filter: CountedSessions): Promise<number> =>
  (await reads.rows(selectedCount, { ...filter, tenant_id }))[0]?.count ?? 0;

const sessionsByStatus = defineQuery((db, { tenant_id, from }: { tenant_id: string; from: string }) =>
  db
    .selectFrom('sessions.sessions as session')
    .select(({ fn, cast }) => ['session.status', cast<number>(fn.countAll(), 'integer').as('count')])
    .where('session.tenant_id', '=', tenant_id)
    .where('session.created_at', '>=', from)
    .groupBy('session.status'),
);

/**
 * Returns the number of sessions of a tenant that started at or after the time `from`, for each status. Statuses
 * without sessions have no entry.
 */
export const sessionCountsSince = async (reads: Reads, tenant_id: string, from: string): Promise<Readonly<Record<string, number>>> =>
  Object.fromEntries((await reads.rows(sessionsByStatus, { tenant_id, from })).map(({ status, count }) => [status!, count]));
