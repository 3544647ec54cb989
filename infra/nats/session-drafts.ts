import { setTimeout as sleep } from 'node:timers/promises';
import type { Msg, NatsConnection } from 'nats';
import { DRAFT_SECONDS, type Draft, type DraftRef, type Drafts } from '../../commands/sessions/draft.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { connectInBackground } from './background-connection.ts';

/** Core NATS: each API process gets each draft, and nothing stores them. Runners may neither publish nor read here. */
const SUBJECTS = 'drafts.*.*';
const subjectOf = ({ tenant, session_id }: DraftRef): string => `drafts.${tenant}.${session_id}`;
const CONFIRM_TIMEOUT_MS = 2_000;

type Limits = {
  readonly lifetimeMs: number;
  /** The bytes of all drafts of a tenant in one process, and of all tenants. The oldest drafts are dropped. */
  readonly maxTenantBytes: number;
  readonly maxBytes: number;
  /** How many drafts a tenant can set in a second, in one process. */
  readonly maxRate: number;
};
const LIMITS: Limits = { lifetimeMs: DRAFT_SECONDS * 1_000, maxTenantBytes: 4 << 20, maxBytes: 32 << 20, maxRate: 100 };

type Kept = { readonly draft: Draft; readonly bytes: number; readonly timer: NodeJS.Timeout };
/** `drafts` are in the order in which they were set. */
type OfTenant = { readonly drafts: Map<string, Kept>; bytes: number };
type Store = {
  readonly limits: Limits;
  readonly tenants: Map<string, OfTenant>;
  readonly listeners: Map<string, Set<() => void>>;
  /** How many drafts each tenant has set in the second `at` (Unix time). */
  readonly rates: { at: number; readonly counts: Map<string, number> };
};

const ofTenant = ({ tenants }: Store, tenant: string): OfTenant => {
  const found = tenants.get(tenant) ?? { drafts: new Map(), bytes: 0 };
  tenants.set(tenant, found);
  return found;
};

const tell = ({ listeners }: Store, ref: DraftRef): void => {
  for (const listener of listeners.get(subjectOf(ref)) ?? []) listener();
};

const drop = (store: Store, { tenant, session_id }: DraftRef): void => {
  const owner = ofTenant(store, tenant);
  const kept = owner.drafts.get(session_id);
  owner.drafts.delete(session_id);
  owner.bytes -= kept?.bytes ?? 0;
  clearTimeout(kept?.timer);
  if (owner.drafts.size === 0) store.tenants.delete(tenant);
};

const remove = (store: Store, ref: DraftRef): void => {
  drop(store, ref);
  tell(store, ref);
};

const removeOldest = (store: Store, tenant: string): void => {
  const [session_id] = ofTenant(store, tenant).drafts.keys();
  if (session_id !== undefined) remove(store, { tenant, session_id });
};

const totalOf = ({ tenants }: Store): number => tenants.values().reduce((sum, { bytes }) => sum + bytes, 0);

/** Drops the tenant's oldest drafts, then those of the tenants with most bytes. */
const keepLimits = (store: Store, tenant: string): void => {
  const { maxTenantBytes, maxBytes } = store.limits;
  while (ofTenant(store, tenant).bytes > maxTenantBytes) removeOldest(store, tenant);
  while (totalOf(store) > maxBytes)
    removeOldest(store, [...store.tenants].reduce((one, other) => (other[1].bytes > one[1].bytes ? other : one))[0]);
};

const keep = (store: Store, ref: DraftRef, draft: Draft): void => {
  drop(store, ref);
  const owner = ofTenant(store, ref.tenant);
  const bytes = Buffer.byteLength(draft.content) + 200;
  const timer = setTimeout(() => remove(store, ref), store.limits.lifetimeMs).unref();
  owner.drafts.set(ref.session_id, { draft, bytes, timer });
  owner.bytes += bytes;
  keepLimits(store, ref.tenant);
  tell(store, ref);
};

const receive = (store: Store, { subject, data }: Pick<Msg, 'subject' | 'data'>): void => {
  const [, tenant = '', session_id = ''] = subject.split('.');
  const draft = JSON.parse(Buffer.from(data).toString()) as Draft | null;
  if (draft) keep(store, { tenant, session_id }, draft);
  else remove(store, { tenant, session_id });
};

/** @throws Refusal rate_limited */
const count = ({ rates, limits }: Store, tenant: string, now = Date.now()): void => {
  const second = Math.floor(now / 1_000);
  if (rates.at !== second) rates.counts.clear();
  rates.at = second;
  const drafts = (rates.counts.get(tenant) ?? 0) + 1;
  rates.counts.set(tenant, drafts);
  if (drafts > limits.maxRate)
    throw new Refusal('rate_limited', `A tenant can set at most ${limits.maxRate} drafts a second`, { retryAfter: 1 });
};

const unavailable = (): Refusal =>
  new Refusal('unavailable', 'The message broker cannot be reached, so nobody would see the draft: send the next one later', {
    retryAfter: 5,
  });

/** @throws Refusal unavailable if the broker does not confirm the draft */
const publish = async (nats: NatsConnection, ref: DraftRef, draft: Draft | null): Promise<void> => {
  nats.publish(subjectOf(ref), JSON.stringify(draft));
  const late = sleep(CONFIRM_TIMEOUT_MS, undefined, { ref: false }).then(() => Promise.reject(unavailable()));
  await Promise.race([nats.flush(), late]);
};

const watch = ({ listeners }: Store, ref: DraftRef, onChange: () => void): (() => void) => {
  const key = subjectOf(ref);
  const known = listeners.get(key) ?? new Set();
  listeners.set(key, known.add(onChange));
  return () => {
    known.delete(onChange);
    if (known.size === 0 && listeners.get(key) === known) listeners.delete(key);
  };
};

type Broker = Pick<ReturnType<typeof connectInBackground>, 'connection' | 'whenConnected' | 'isHealthy'>;

/**
 * Opens the drafts of sessions. Each process keeps those that any process publishes, for a minute. What is published
 * while a process has no connection is missing there until the runner sends the next one.
 */
export const openSessionDrafts = ({ connection, whenConnected, isHealthy }: Broker, limits: Partial<Limits> = {}): Drafts => {
  const store: Store = { limits: { ...LIMITS, ...limits }, tenants: new Map(), listeners: new Map(), rates: { at: 0, counts: new Map() } };
  void whenConnected().then((nats) => nats?.subscribe(SUBJECTS, { callback: (error, message) => error ?? receive(store, message) }));
  return {
    admit: (tenant) => count(store, tenant),
    put: async (ref, draft) => {
      const nats = await connection();
      if (!isHealthy()) throw unavailable();
      await publish(nats, ref, draft);
    },
    get: ({ tenant, session_id }) => store.tenants.get(tenant)?.drafts.get(session_id)?.draft ?? null,
    watch: (ref, onChange) => watch(store, ref, onChange),
  };
};
