import type { BodyMemory, BodyOwner } from '../../commands/deliveries/webhook-ports.ts';
import { CHUNK_BYTES, MAX_BODY_BYTES } from '../../domain/bodies/delivery-body.ts';
import { Refusal } from '../../domain/refusal.ts';
import { retryLater } from './delivery-appends.ts';
import { canTakeChunk, createUsage, type Limits, type Usage, usageOf } from './memory-limits.ts';

/** The maximum memory for large bodies in one process, in bytes. It is enough for five bodies of the largest size. */
const MAX_BUFFERED_BYTES = 128 * 1024 * 1024;
const MAX_CHUNKS = Math.floor(MAX_BUFFERED_BYTES / CHUNK_BYTES);
/** A tenant gets at most half, an integration at most two bodies of the largest size. */
const LIMITS: Limits = {
  total: MAX_CHUNKS,
  tenant: Math.floor(MAX_CHUNKS / 2),
  integration: 2 * Math.ceil(MAX_BODY_BYTES / CHUNK_BYTES),
};
/** The numbers of bodies that may wait for memory: each release of memory costs time for every one of them. */
const WAITING_LIMITS: Limits = { total: 64, tenant: 32, integration: 16 };

/** How often the speed of each body is measured, in milliseconds. */
const INTERVAL_MS = 2_000;
/** The minimum speed of a body in bytes per second. A body that arrives more slowly is refused. */
const MIN_SPEED = 64 * 1024;
/** If another body needs memory, a body that arrives at fewer bytes per second than this is refused. */
const MIN_SPEED_WHILE_OTHERS_WAIT = 1024 * 1024;
/** The maximum time that a body waits for memory, in milliseconds. Providers wait ten seconds for the response. */
const MAX_WAIT_MS = 7_000;

export type BodyMemoryOptions = {
  readonly limits?: Limits;
  readonly waitingLimits?: Limits;
  readonly chunkBytes?: number;
  readonly intervalMs?: number;
  readonly maxWaitMs?: number;
};

/** A large body that is being received, verified or recorded. */
type Body = {
  readonly owner: BodyOwner;
  readonly maxChunks: number;
  readonly chunks: Uint8Array[];
  /** Rejects when the body is given up. */
  readonly failure: PromiseWithResolvers<never>;
  /** Null if the body does not wait for a chunk. */
  awaited: PromiseWithResolvers<Uint8Array> | null;
  /** The bytes that have arrived since the last measurement. */
  arrived: number;
  /** Bytes could arrive during the whole interval, so the speed can be judged. */
  isMeasurable: boolean;
  isComplete: boolean;
};

type Pool = Required<BodyMemoryOptions> & {
  /** The bodies in the order in which their requests arrived. */
  readonly bodies: Set<Body>;
  /** The bodies that have chunks. `used` counts these chunks. */
  readonly holders: Set<Body>;
  readonly used: Usage;
  readonly waiting: Usage;
  readonly free: Uint8Array[];
  /** The memory of all chunks. It is allocated for the first large body. */
  memory: SharedArrayBuffer | null;
  timer: NodeJS.Timeout | null;
  measuredAt: number;
};

/**
 * Memory shared with the worker thread. A body gets chunks as its bytes arrive; a Content-Length reserves none. All chunks are parts of one
 * reused buffer: one SharedArrayBuffer per body is freed only after garbage collections in both threads, so the memory could grow without
 * limit. Unsigned bodies could use up the memory, as a signature is checked only at the end: so tenants and integrations have limits, and
 * bodies that arrive too slowly are given up.
 */
export const createBodyMemory = (options: BodyMemoryOptions = {}): ((owner: BodyOwner, maxBytes: number) => BodyMemory) => {
  const { limits = LIMITS, waitingLimits = WAITING_LIMITS } = options;
  const pool: Pool = {
    limits,
    waitingLimits,
    chunkBytes: CHUNK_BYTES,
    intervalMs: INTERVAL_MS,
    maxWaitMs: MAX_WAIT_MS,
    ...options,
    bodies: new Set(),
    holders: new Set(),
    used: createUsage(limits),
    waiting: createUsage(waitingLimits),
    free: [],
    memory: null,
    timer: null,
    measuredAt: 0,
  };
  return (owner, maxBytes) => {
    const body = addBody(pool, owner, maxBytes);
    return {
      nextChunk: () => nextChunk(pool, body),
      countBytes: (count) => {
        body.arrived += count;
      },
      failed: body.failure.promise,
      complete: () => {
        body.isComplete = true;
      },
      release: () => release(pool, body),
    };
  };
};

const addBody = (pool: Pool, owner: BodyOwner, maxBytes: number): Body => {
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});
  const maxChunks = Math.ceil(maxBytes / pool.chunkBytes);
  const body: Body = { owner, maxChunks, chunks: [], failure, awaited: null, arrived: 0, isMeasurable: false, isComplete: false };
  pool.bodies.add(body);
  if (!pool.timer) {
    pool.measuredAt = performance.now();
    // Bytes that arrived while this process was busy are read first.
    pool.timer = setInterval(() => setImmediate(() => measure(pool)), pool.intervalMs).unref();
  }
  return body;
};

const release = (pool: Pool, body: Body): void => {
  if (!pool.bodies.delete(body)) return;
  endWait(pool, body)?.reject(retryLater());
  const freed = body.chunks.splice(0);
  pool.holders.delete(body);
  pool.used.add(body.owner, -freed.length);
  pool.free.push(...freed);
  if (pool.bodies.size === 0 && pool.timer) {
    clearInterval(pool.timer);
    pool.timer = null;
  }
  if (freed.length > 0) grantWaiting(pool);
};

/** Returns the promise on which the body waited; null if it did not wait. */
const endWait = (pool: Pool, body: Body): Body['awaited'] => {
  const { awaited } = body;
  if (awaited) pool.waiting.add(body.owner, -1);
  body.awaited = null;
  return awaited;
};

/** Frees the memory at once. */
const giveUp = (pool: Pool, body: Body, refusal: Refusal): void => {
  body.failure.reject(refusal);
  endWait(pool, body)?.reject(refusal);
  release(pool, body);
};

const takeChunk = (pool: Pool, body: Body): Uint8Array => {
  if (!pool.memory) {
    const { total } = pool.limits;
    const memory = new SharedArrayBuffer(total * pool.chunkBytes);
    pool.memory = memory;
    pool.free.push(...Array.from({ length: total }, (_, index) => new Uint8Array(memory, index * pool.chunkBytes, pool.chunkBytes)));
  }
  const chunk = pool.free.pop()!;
  body.chunks.push(chunk);
  pool.holders.add(body);
  pool.used.add(body.owner, 1);
  return chunk;
};

/** Gives memory to the bodies that wait, in the order of their requests. */
const grantWaiting = (pool: Pool): void => {
  for (const body of pool.bodies) {
    if (!body.awaited || !canTakeChunk(pool.limits, pool.used, pool.holders, body)) continue;
    endWait(pool, body)?.resolve(takeChunk(pool, body));
  }
};

const nextChunk = async (pool: Pool, body: Body): Promise<Uint8Array> => {
  if (!pool.bodies.has(body)) return body.failure.promise;
  if (canTakeChunk(pool.limits, pool.used, pool.holders, body)) return takeChunk(pool, body);
  if (pool.waiting.free(body.owner) < 1) throw retryLater();
  pool.waiting.add(body.owner, 1);
  body.awaited = Promise.withResolvers();
  body.isMeasurable = false;
  const timer = setTimeout(() => giveUp(pool, body, retryLater()), pool.maxWaitMs);
  return body.awaited.promise.finally(() => clearTimeout(timer));
};

const isReceiving = ({ awaited, isComplete }: Body): boolean => !awaited && !isComplete;

const tooSlow = (): Refusal => new Refusal('too_slow', `A large body must arrive with at least ${MIN_SPEED} bytes per second`);

/** Gives up bodies that are too slow. */
const measure = (pool: Pool): void => {
  const seconds = (performance.now() - pool.measuredAt) / 1_000;
  pool.measuredAt = performance.now();
  // If this process was paused, the speed says nothing about the sender.
  const wasPaused = seconds * 1_000 > 2 * pool.intervalMs;
  const measurable = wasPaused ? [] : [...pool.bodies].filter((body) => isReceiving(body) && body.isMeasurable);
  const slow = measurable.filter(({ arrived }) => arrived < MIN_SPEED_WHILE_OTHERS_WAIT * seconds).sort((a, b) => a.arrived - b.arrived);
  for (const body of slow) if (body.arrived < MIN_SPEED * seconds) giveUp(pool, body, tooSlow());
  for (const body of pool.bodies) if (body.awaited) makeRoom(pool, body, slow);
  for (const body of pool.bodies) {
    body.arrived = 0;
    body.isMeasurable = isReceiving(body);
  }
};

/** Returns the distance between two bodies: 0 in the same integration, 1 in the same tenant, 2 otherwise. */
const distance = (a: BodyOwner, b: BodyOwner): number => {
  if (a.tenant !== b.tenant) return 2;
  return a.integration === b.integration ? 0 : 1;
};

/**
 * Gives up slow bodies until a waiting body gets memory. If that would not be enough, gives up none. Bodies of the same
 * integration are given up first, then bodies of the same tenant. Another tenant loses memory only if it uses more than
 * the tenant of the waiting body.
 */
const makeRoom = (pool: Pool, body: Body, slow: readonly Body[]): void => {
  const { owner } = body;
  const own = pool.used.ofTenant(owner.tenant);
  const candidates = slow
    .filter((other) => pool.holders.has(other))
    .filter((other) => distance(owner, other.owner) < 2 || pool.used.ofTenant(other.owner.tenant) > own)
    .sort((a, b) => distance(owner, a.owner) - distance(owner, b.owner));
  const others = pool.holders.difference(new Set(candidates));
  if (!canTakeChunk(pool.limits, usageOf(pool.limits, others), others, body)) return;
  for (const other of candidates) {
    if (!body.awaited) return;
    giveUp(pool, other, retryLater());
  }
};
