import { createHash } from 'node:crypto';
import type { Ctx } from '../../api/http/operation.ts';
import type { IdempotentRequest, RequestInfo, Runtime } from '../../api/http/runtime.ts';
import type { Loaded } from '../../commands/context.ts';
import { streamName } from '../../domain/event.ts';
import { category, type Outcome } from '../../domain/idempotency-key.ts';
import { callerOf } from '../../domain/principal.ts';
import { Refusal, type RefusalCode, type RefusalDetails } from '../../domain/refusal.ts';
import { isConflict, type Log } from '../eventstore/event-log.ts';
import type { Execution } from './execution.ts';
import { createKeyClaims } from './idempotency-claim.ts';
import { throwAsRefusal } from './transact.ts';

type Deps = { readonly log: Log; readonly context: (info: RequestInfo, execution: Execution) => Ctx; readonly now: () => number };

const TEMPORARY: ReadonlySet<RefusalCode> = new Set(['unavailable', 'not_caught_up', 'rate_limited', 'internal']);

const sha256 = (...parts: (string | Uint8Array)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex');
};

/** Whether the same request can succeed later: its Idempotency-Key is then released, and the error is not recorded. */
const isRetryable = (error: unknown): boolean =>
  !(error instanceof Refusal) || TEMPORARY.has(error.code) || error.extra.retryAfter !== undefined;

const refusedOutcome = ({ code, message, extra: { errors, members } }: Refusal): Outcome => ({
  kind: 'refused',
  code,
  detail: message,
  ...(errors && { errors }),
  ...(members && { members }),
});

const doneOutcome = ({ touched, sideEffects }: Execution, location: string | null, existed: boolean | undefined): Outcome => ({
  kind: 'done',
  touched,
  ...(sideEffects.length > 0 ? { found: sideEffects } : {}),
  location,
  ...(existed === true ? { existed } : {}),
});

/** A conflict means that another request with the same key has taken over the claim, and records the same outcome. */
const ignoreConflict = (error: unknown): void => {
  if (!isConflict(error)) throwAsRefusal(error);
};

/** @throws the refusal of the first request; Refusal secret_already_shown if its response contained a new secret */
const replayOf = (outcome: Outcome, seed: string, oneTimeSecret: boolean): Execution => {
  if (outcome.kind === 'refused') {
    const { code, detail, kind: _, ...extra } = outcome;
    throw new Refusal(code, detail, extra as RefusalDetails);
  }
  if (oneTimeSecret) {
    const detail = 'the first response contained the secret, which is not stored: create another one if you do not have it';
    throw new Refusal('secret_already_shown', detail, outcome.location ? { location: outcome.location } : {});
  }
  return { seed, repeatable: true, resumed: false, replay: outcome.touched, touched: [], sideEffects: [...(outcome.found ?? [])] };
};

/**
 * Every key has its own stream, which a request claims before it appends anything else. The last event of that stream records the outcome:
 * the refusal, or the streams and revisions from which a repeat creates the response again.
 */
export const createRunIdempotent = ({ log, context, now }: Deps): Runtime['runIdempotent'] => {
  const claims = createKeyClaims(log, now);

  return async <T extends Loaded<unknown>>(
    info: RequestInfo,
    request: IdempotentRequest,
    run: (ctx: Ctx) => Promise<T>,
    locate: (loaded: T) => string | null,
  ): Promise<T> => {
    const seed = sha256(info.tenant, callerOf(info.principal), request.route, request.key);
    const use = {
      info,
      stream: streamName(category, info.tenant, seed.slice(0, 40)),
      route: request.route,
      bodyDigest: sha256(request.body),
    };
    const claim = await claims.claim(use).catch(throwAsRefusal);
    if (claim.outcome) {
      request.onReplay?.();
      const replay = replayOf(claim.outcome, seed, request.oneTimeSecret);
      const existed = claim.outcome.kind === 'done' && claim.outcome.existed === true;
      return { ...(await run(context({ ...info, ifMatch: null }, replay))), existed };
    }
    const execution: Execution = { seed, repeatable: true, resumed: claim.revision > 0, replay: null, touched: [], sideEffects: [] };
    try {
      const loaded = await run(context(info, execution));
      const data = doneOutcome(execution, locate(loaded), loaded.existed);
      await claims.end(use, claim, { type: 'IdempotencyKeyFinished', data }).catch(ignoreConflict);
      return loaded;
    } catch (error) {
      const end = isRetryable(error)
        ? { type: 'IdempotencyKeyReleased' as const, data: {} }
        : { type: 'IdempotencyKeyFinished' as const, data: refusedOutcome(error as Refusal) };
      await claims.end(use, claim, end).catch(() => {});
      throw error;
    }
  };
};
