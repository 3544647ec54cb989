import type { ClientBase } from 'pg';
import type { Logger } from 'pino';
import { comparePositions, type Position, parseToken, type Recorded, tokenOf } from '../../domain/event.ts';
import type { Log, Subscription } from '../eventstore/event-log.ts';

const ERASED = 'TenantErased';
/** How often the position up to which the log has been searched is stored, in milliseconds. */
const STORE_INTERVAL_MS = 60_000;
/** If the search failed because a record of the log is damaged, it is repeated after this many milliseconds. */
const SEARCH_AGAIN_MS = 30_000;

/**
 * The set of erased tenants. Projections ignore the events of these tenants, so that a rebuild does not bring their
 * rows back. The database stores the tenants, and the position up to which the log has been searched for erasures. So a
 * start need not search the whole log.
 */
export type ErasedTenants = {
  readonly has: (tenant: string) => boolean;
  readonly isEmpty: () => boolean;
  readonly note: (event: Recorded) => void;
  /**
   * Starts to search the log for erasures, and stores the result. Must be called regularly. Returns whether all
   * erasures are known that were recorded before the start of this process.
   * @throws errors of the database, LogError
   */
  readonly update: (db: ClientBase) => Promise<boolean>;
  readonly close: () => Promise<void>;
};

type Stored = { readonly tenants: readonly string[]; readonly position: Position | null };

const NOTHING: Stored = { tenants: [], position: null };

const SQL = {
  tenants: 'select tenant from annals.erased_tenants',
  position: `select commit_position || ':' || prepare_position as token from annals.erasure_search`,
  clear: 'delete from annals.erased_tenants',
  addTenants: 'insert into annals.erased_tenants (tenant) select unnest($1::text[]) on conflict do nothing',
  setPosition: `insert into annals.erasure_search (one, commit_position, prepare_position) values (true, $1, $2)
    on conflict (one) do update set commit_position = excluded.commit_position, prepare_position = excluded.prepare_position`,
};

/**
 * Reads the stored tenants and position. If the log ends before the stored position, it was restored from a backup, in
 * which the tenants may not be erased. In this case, the stored data are ignored.
 */
const readStored = async (db: ClientBase, log: Log): Promise<Stored> => {
  const { rows: positions } = await db.query<{ token: string }>(SQL.position);
  const position = positions[0] ? parseToken(positions[0].token) : null;
  const [last] = await Array.fromAsync(log.readAll({ backwards: true, limit: 1 }));
  if (!position) return NOTHING;
  if (!last || comparePositions(last.position, position) < 0) {
    await db.query(SQL.clear);
    return NOTHING;
  }
  const { rows } = await db.query<{ tenant: string }>(SQL.tenants);
  return { tenants: rows.map(({ tenant }) => tenant), position };
};

/** Opens the set of erased tenants. `onReady` is called when all earlier erasures are known. */
export const openErasedTenants = (log: Log, logger: Pick<Logger, 'warn'>, onReady: () => void = () => {}): ErasedTenants => {
  const tenants = new Set<string>();
  const unstored = new Set<string>();
  let subscription: Subscription | undefined;
  let isReady = false;
  let position: Position | null = null;
  let storedPosition = '';
  let searchAgainAt = Number.NEGATIVE_INFINITY;
  let storedAt = Number.NEGATIVE_INFINITY;

  const note = ({ type, tenant }: Recorded): void => {
    if (type !== ERASED || tenants.has(tenant)) return;
    tenants.add(tenant);
    unstored.add(tenant);
  };

  const search = async (db: ClientBase): Promise<Subscription> => {
    const stored = await readStored(db, log);
    for (const tenant of stored.tenants) tenants.add(tenant);
    position = stored.position;
    const started = log.follow({
      from: position ?? undefined,
      filter: { eventTypes: [ERASED] },
      event: (event) => {
        note(event);
        position = event.position;
      },
      checkpoint: (at) => {
        position = at;
      },
      caughtUp: () => {
        isReady = true;
        onReady();
      },
    });
    void started.failure.then((error) => {
      if (!error) return;
      logger.warn({ reason: error.message }, 'erasures of tenants cannot be followed; trying again');
      searchAgainAt = performance.now() + SEARCH_AGAIN_MS;
      subscription = undefined;
      // The search failed at a damaged record, at which the projections stop, too. Until they reach it, they note
      // erasures themselves.
      isReady = true;
      onReady();
    });
    return started;
  };

  const store = async (db: ClientBase): Promise<void> => {
    const isDue = isReady && position && tokenOf(position) !== storedPosition && performance.now() - storedAt > STORE_INTERVAL_MS;
    if (unstored.size === 0 && !isDue) return;
    // The tenants are stored before the position, so that every tenant up to a stored position is stored.
    const [found, at] = [[...unstored], position];
    if (found.length > 0) await db.query(SQL.addTenants, [found]);
    for (const tenant of found) unstored.delete(tenant);
    if (!isReady || !at) return;
    await db.query(SQL.setPosition, [String(at.commit), String(at.prepare)]);
    storedPosition = tokenOf(at);
    storedAt = performance.now();
  };

  return {
    has: (tenant) => tenants.has(tenant),
    isEmpty: () => tenants.size === 0,
    note,
    update: async (db) => {
      if (!subscription && performance.now() >= searchAgainAt) subscription = await search(db);
      await store(db);
      return isReady;
    },
    close: async () => subscription?.stop(),
  };
};
