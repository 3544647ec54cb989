import { createHash, randomUUID } from 'node:crypto';
import type { Ctx } from '../../api/http/operation.ts';
import type { IdempotentRequest, RequestInfo, Runtime } from '../../api/http/runtime.ts';
import type { Loaded } from '../../commands/context.ts';
import { type Metadata, type Recorded, streamName } from '../../domain/event.ts';
import {
  category,
  evolve,
  type Idempotency,
  type IdempotencyEvent,
  initial,
  isClaimed,
  type Outcome,
} from '../../domain/idempotency-key.ts';
import { callerOf } from '../../domain/principal.ts';
import { Refusal, type RefusalDetails } from '../../domain/refusal.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';
import type { Execution } from './request-context.ts';
import { throwAsRefusal } from './transact.ts';

type Deps = { readonly log: Log; readonly context: (asked: RequestInfo, session: Execution) => Ctx; readonly now: () => number };
type Found = { readonly key: Idempotency; readonly revision: number };

const sha256 = (...parts: (string | Uint8Array)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex');
};

const PASSING: ReadonlySet<string> = new Set(['unavailable', 'not_caught_up', 'rate_limited', 'internal']);

/** Says nothing final: the same request may fare better. */
const isRetryable = (error: unknown): boolean =>
  !(error instanceof Refusal) || PASSING.has(error.code) || error.extra.retryAfter !== undefined;

const refusedAs = ({ code, message, extra: { errors, members } }: Refusal): Outcome => ({
  kind: 'refused',
  code,
  detail: message,
  ...(errors && { errors }),
  ...(members && { members }),
});

const inFlight = (): Refusal => new Refusal('idempotency_in_flight', 'the first request is still being worked on', { retryAfter: 1 });

const takenByAnother = (error: unknown): never => {
  throw error instanceof LogError && error.kind === 'conflict' ? inFlight() : error;
};

/** Another repeat took the key over meanwhile and ends it: what both did is one and the same. */
const unlessTakenOver = (error: unknown): void => {
  if (!(error instanceof LogError) || error.kind !== 'conflict') throwAsRefusal(error);
};

/**
 * Runs a mutation once under its Idempotency-Key. The key has a stream of its own, claimed before anything is written; its end holds the
 * streams and revisions from which the answer is rendered again.
 */
export const runIdempotent = ({ log, context, now }: Deps): Runtime['runIdempotent'] => {
  const metaOf = (asked: RequestInfo): Metadata => ({
    tenant: asked.tenant,
    actor: { kind: 'system', id: 'idempotency' },
    at: new Date(now()).toISOString(),
    v: 1,
    $correlationId: asked.requestId,
  });

  const write = (asked: RequestInfo, stream: string, expected: number | 'none', { type, data }: IdempotencyEvent) =>
    log.append(stream, expected, [{ id: randomUUID(), type, data, meta: metaOf(asked) }]);

  const find = async (stream: string): Promise<Found> => {
    let found: Found = { key: initial, revision: -1 };
    for await (const event of log.read(stream))
      found = { key: evolve(found.key, event as Recorded<IdempotencyEvent>), revision: event.revision };
    return found;
  };

  /** Takes the key, or finds out how it was used. @returns the revision to end it at and whether it was begun before */
  const take = async (asked: RequestInfo, stream: string, route: string, body_digest: string): Promise<Found & { mine: boolean }> => {
    try {
      const { revision } = await write(asked, stream, 'none', { type: 'IdempotencyKeyClaimed', data: { route, body_digest } });
      return { key: initial, revision, mine: true };
    } catch (error) {
      if (!(error instanceof LogError) || error.kind !== 'conflict') throw error;
    }
    const found = await find(stream);
    if (found.key.body_digest !== body_digest) throw new Refusal('idempotency_mismatch', 'the key came with another body before');
    if (found.key.outcome) return { ...found, mine: false };
    if (isClaimed(found.key, new Date(now()).toISOString())) throw inFlight();
    const { revision } = await write(asked, stream, found.revision, { type: 'IdempotencyKeyTaken', data: {} }).catch(takenByAnother);
    return { key: found.key, revision, mine: true };
  };

  const replayed = async <T extends Loaded<unknown>>(
    asked: RequestInfo,
    seed: string,
    outcome: Outcome,
    once: IdempotentRequest,
    run: (ctx: Ctx) => Promise<T>,
  ): Promise<T> => {
    if (outcome.kind === 'refused') {
      const { code, detail, kind: _, ...extra } = outcome;
      throw new Refusal(code, detail, extra as RefusalDetails);
    }
    const location = outcome.location ?? undefined;
    if (once.oneTimeSecret)
      throw new Refusal('secret_already_shown', 'the secret was in the first answer and is kept nowhere', location ? { location } : {});
    const again = { seed, repeatable: true, resumed: false, replay: outcome.touched, touched: [], found: [...(outcome.found ?? [])] };
    return { ...(await run(context({ ...asked, ifMatch: null }, again))), existed: outcome.existed === true };
  };

  return async <T extends Loaded<unknown>>(
    asked: RequestInfo,
    once: IdempotentRequest,
    run: (ctx: Ctx) => Promise<T>,
    locate: (loaded: T) => string | null,
  ): Promise<T> => {
    const seed = sha256(asked.tenant, callerOf(asked.principal), once.route, once.key);
    const stream = streamName(category, asked.tenant, seed.slice(0, 40));
    const taken = await take(asked, stream, once.route, sha256(once.body)).catch(throwAsRefusal);
    if (taken.key.outcome && !taken.mine) return replayed(asked, seed, taken.key.outcome, once, run);
    const session: Execution = { seed, repeatable: true, resumed: taken.revision > 0, replay: null, touched: [], found: [] };
    const end = (event: IdempotencyEvent) => write(asked, stream, taken.revision, event);
    try {
      const loaded = await run(context(asked, session));
      const existed = loaded.existed === true ? { existed: true } : {};
      const found = session.found.length > 0 ? { found: session.found } : {};
      const outcome: Outcome = { kind: 'done', touched: session.touched, ...found, location: locate(loaded), ...existed };
      await end({ type: 'IdempotencyKeyFinished', data: outcome }).catch(unlessTakenOver);
      return loaded;
    } catch (error) {
      const event = isRetryable(error)
        ? { type: 'IdempotencyKeyReleased' as const, data: {} }
        : { type: 'IdempotencyKeyFinished' as const, data: refusedAs(error as Refusal) };
      await end(event).catch(() => {});
      throw error;
    }
  };
};
