import type { Ctx } from '../../api/http/operation.ts';
import type { RequestInfo } from '../../api/http/runtime.ts';
import type { Authorize } from '../../commands/access/authorize.ts';
import type { Blobs } from '../../commands/blobs.ts';
import type { Loaded, Secrets, TransactOptions } from '../../commands/context.ts';
import type { Permit } from '../../domain/access/permission.ts';
import type { Aggregate, Decision } from '../../domain/aggregate.ts';
import { type Actor, type DomainEvent, type Metadata, type Position, streamName, tokenOf } from '../../domain/event.ts';
import type { Principal } from '../../domain/principal.ts';
import { Refusal, type RefusalCode } from '../../domain/refusal.ts';
import type { Reads } from '../../projections/read-model.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { RateLimiter } from '../ratelimit/limiter.ts';
import type { CpuBudgets } from '../threads/cpu-budget.ts';
import { uniqueIdIn } from '../vault/tenant-ids.ts';
import type { Vault } from '../vault/vault.ts';
import type { AggregateCache } from './aggregate-cache.ts';
import { eventReader } from './events-at.ts';
import { type Execution, newExecution } from './execution.ts';
import { createPastStates, withRefusals } from './past-state.ts';
import { BASE36, BASE62, derivedText, randomText } from './random-text.ts';
import { tenantChecks } from './tenant-checks.ts';
import { tenantOf, tenantToLoad } from './tenant-of-stream.ts';
import { createTransact, throwAsRefusal } from './transact.ts';

export type ContextDeps = {
  readonly log: Log;
  readonly cache: AggregateCache;
  readonly vault: Vault;
  readonly reads: Reads;
  readonly blobs: BlobStore;
  readonly authorize: Authorize;
  readonly publicUrl: string;
  /** If absent, no request is limited. */
  readonly limits?: Pick<RateLimiter, 'chargeFlow'> | undefined;
  readonly budgets: CpuBudgets;
  readonly now: () => number;
};

/** The counters number transactions, random texts and side effects; by them a repeat finds the results of the first run. */
type Progress = {
  /** Set when first needed, as is `at`, the time stored in the events: most reads need neither. */
  execution: Execution | undefined;
  at: string | undefined;
  /** The If-Match header; null after the first transaction that has checked it. A transaction that ignores the header does not change this field. */
  ifMatch: RequestInfo['ifMatch'];
  transactions: number;
  randomTexts: number;
  sideEffects: number;
};

/** A request in one tenant. If the same request works in several tenants, their contexts share one `progress`. */
type RequestState = {
  readonly info: RequestInfo;
  readonly actor: Actor;
  readonly now: () => number;
  readonly progress: Progress;
};

const NO_ACCESS: ReadonlySet<RefusalCode> = new Set(['forbidden', 'not_found', 'tenant_suspended']);

export const actorOf = (principal: Principal): Actor => {
  if (principal.kind === 'user') return { kind: 'user', id: principal.user_id, key_id: principal.key_id };
  if (principal.kind === 'runner') return { kind: 'agent', id: principal.agent_id, key_id: principal.key_id };
  return { kind: 'system', id: principal.name };
};

const timeOf = ({ progress, now }: RequestState): string => {
  progress.at ??= new Date(now()).toISOString();
  return progress.at;
};

const executionOf = ({ progress }: RequestState): Execution => {
  progress.execution ??= newExecution();
  return progress.execution;
};

const metadataOf = (request: RequestState, tenant: string): Metadata => ({
  tenant,
  actor: request.actor,
  at: timeOf(request),
  v: 1,
  ip: request.info.ip,
  userAgent: request.info.userAgent,
  $correlationId: request.info.requestId,
});

/** If the request can be repeated, the characters are derived from its seed, so that a repeat gets the same. */
const textFor = ({ progress }: RequestState, digest: Vault['digest'], alphabet: string, length: number): string => {
  const { execution } = progress;
  if (!execution?.repeatable) return randomText(alphabet, length);
  return derivedText({ key: digest(execution.seed), label: String(progress.randomTexts++), alphabet, length });
};

/** Stores the result of `find`, which may have a side effect. A repeat returns the stored result instead of calling it. */
const findOnce = async <T>({ progress }: RequestState, find: () => Promise<T>): Promise<T> => {
  const index = progress.sideEffects++;
  if (!progress.execution) return find();
  const { sideEffects } = progress.execution;
  if (!(index in sideEffects)) sideEffects[index] = await find();
  return sideEffects[index] as T;
};

/** Returns the blob store of one tenant. Errors of the event log, which stores the encryption keys, become refusals. */
const blobsOf = (store: BlobStore, tenant: string): Blobs => ({
  put: (content) => store.of(tenant).put(content).catch(throwAsRefusal),
  get: (sha256) => store.of(tenant).get(sha256).catch(throwAsRefusal),
  exists: (sha256) => store.of(tenant).exists(sha256),
});

const createAggregateAccess = ({ log, cache }: ContextDeps) => {
  const runTransaction = createTransact(log, cache);
  const past = createPastStates(log, cache);

  const transact =
    (request: RequestState): Ctx['transact'] =>
    async <S, E extends DomainEvent>(
      aggregate: Aggregate<S, E>,
      id: string,
      decide: Decision<S, E>,
      options: TransactOptions<S> = {},
    ): Promise<Loaded<S>> => {
      const tenant = tenantOf(request.info.tenant, aggregate, options.tenant);
      const { seed, resumed, replay, touched } = executionOf(request);
      const { progress } = request;
      const index = progress.transactions++;
      const replayed = replay?.[index];
      if (replayed) return past.stateAtRevision(aggregate, id, replayed).catch(throwAsRefusal);
      const ifMatch = options.ignoreExpectedRevision ? null : progress.ifMatch;
      if (!options.ignoreExpectedRevision) progress.ifMatch = null;
      const loaded = await runTransaction({
        aggregate,
        tenant,
        id,
        decide,
        meta: metadataOf(request, options.tenant ?? request.info.tenant),
        seed: `${seed}:${index}`,
        expectNew: options.expectNew === true,
        trustCacheWhen: options.trustCacheWhen,
        ifMatch,
        resumed,
      }).catch(throwAsRefusal);
      if (!options.isUntracked) touched.push({ stream: streamName(aggregate.category, tenant, id), revision: loaded.revision });
      return loaded;
    };

  const load =
    (request: RequestState): Ctx['load'] =>
    (aggregate, id, options = {}) => {
      const { info, progress } = request;
      const tenant = tenantToLoad(info.tenant, aggregate, id, options.tenant);
      if (info.asOf) return past.stateAtPosition(aggregate, tenant, id, info.asOf);
      const stream = streamName(aggregate.category, tenant, id);
      const replayed = progress.execution?.replay?.findLast((touched) => touched.stream === stream);
      if (replayed) return past.stateAtRevision(aggregate, id, replayed).catch(throwAsRefusal);
      const loading = info.bypassCache || options.isFresh ? cache.refresh(aggregate, tenant, id) : cache.load(aggregate, tenant, id);
      return loading.catch(throwAsRefusal);
    };

  const history =
    (request: RequestState): Ctx['log']['history'] =>
    (aggregate, id, options) =>
      withRefusals(past.historyOf(aggregate, tenantOf(request.info.tenant, aggregate), id, options));

  const logEnd = async (): Promise<string | null> => {
    const [last] = await Array.fromAsync(withRefusals(log.readAll({ backwards: true, limit: 1 })));
    return last ? tokenOf(last.position) : null;
  };

  const eventsAt = eventReader(log);
  const eventAt = async (position: Position) => (await eventsAt([position]))[0] ?? null;
  return { transact, load, logOf: (request: RequestState): Ctx['log'] => ({ history: history(request), eventAt, eventsAt, logEnd }) };
};

const secretsOf = (vault: Vault, request: RequestState): Secrets => ({
  seal: (at, secret) => vault.seal(at, secret).catch(throwAsRefusal),
  open: (at, sealed) => vault.open(at, sealed).catch(throwAsRefusal),
  digest: vault.digest,
  random: (characters) => textFor(request, vault.digest, BASE62, characters),
  uniqueId: uniqueIdIn(vault, request.info.tenant),
});

/** A request without an `execution` runs for the first time and is never repeated. */
export const createContextFactory = (deps: ContextDeps) => {
  const { vault, reads, blobs, authorize, publicUrl, limits, budgets, now } = deps;
  const { transact, load, logOf } = createAggregateAccess(deps);

  const contextOf = (request: RequestState): Ctx => {
    const { info, actor } = request;
    const assertMay = (permit: Permit, agent_id?: string) => authorize(info.principal, permit, { tenant_id: info.tenant, agent_id });

    return {
      tenant: info.tenant,
      principal: info.principal,
      actor,
      at: () => timeOf(request),
      reads,
      asOf: info.asOf ?? null,
      publicUrl,
      transact: transact(request),
      load: load(request),
      may: async (permission, agent_id) => {
        try {
          await assertMay(permission, agent_id);
          return true;
        } catch (error) {
          if (error instanceof Refusal && NO_ACCESS.has(error.code)) return false;
          throw error;
        }
      },
      require: async (permit, agent_id) => void (await assertMay(permit, agent_id)),
      limitFlow: async (flow) => {
        if (!request.progress.execution?.replay) await limits?.chargeFlow(info.tenant, flow, now());
      },
      inTenant: (tenant) => contextOf({ ...request, info: { ...info, tenant } }),
      newId: () => `c${textFor(request, vault.digest, BASE36, 24)}`,
      sideEffect: (find) => findOnce(request, find),
      blobs: blobsOf(blobs, info.tenant),
      secrets: secretsOf(vault, request),
      log: logOf(request),
      checks: tenantChecks(budgets, info.tenant),
    };
  };

  return (info: RequestInfo, execution?: Execution): Ctx => {
    const progress = { execution, at: undefined, ifMatch: info.ifMatch, transactions: 0, randomTexts: 0, sideEffects: 0 };
    return contextOf({ info, actor: actorOf(info.principal), now, progress });
  };
};
