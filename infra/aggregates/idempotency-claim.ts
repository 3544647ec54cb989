import { randomUUID } from 'node:crypto';
import type { RequestInfo } from '../../api/http/runtime.ts';
import type { Recorded } from '../../domain/event.ts';
import { evolve, type Idempotency, type IdempotencyEvent, initial, isClaimed, type Outcome } from '../../domain/idempotency-key.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Appended, isConflict, type Log } from '../eventstore/event-log.ts';

/** `stream` records the use of the Idempotency-Key. */
export type KeyUse = { readonly info: RequestInfo; readonly stream: string; readonly route: string; readonly bodyDigest: string };

/** `revision` is the last one of the key's stream; `outcome` is how the first request ended, or null if this request has to run. */
export type Claim = { readonly revision: number; readonly outcome: Outcome | null };

const inFlight = (): Refusal =>
  new Refusal('idempotency_in_flight', 'The first request with this Idempotency-Key is still running: try again', { retryAfter: 1 });

/** `now` returns Unix milliseconds. */
export const createKeyClaims = (log: Log, now: () => number) => {
  const append = ({ info, stream }: KeyUse, expected: number | 'none', { type, data }: IdempotencyEvent): Promise<Appended> => {
    const meta = {
      tenant: info.tenant,
      actor: { kind: 'system', id: 'idempotency' },
      at: new Date(now()).toISOString(),
      v: 1,
      $correlationId: info.requestId,
    } as const;
    return log.append(stream, expected, [{ id: randomUUID(), type, data, meta }]);
  };

  const read = async (stream: string): Promise<{ key: Idempotency; revision: number }> => {
    let [key, revision] = [initial, -1];
    for await (const event of log.read(stream)) {
      key = evolve(key, event as Recorded<IdempotencyEvent>);
      revision = event.revision;
    }
    return { key, revision };
  };

  /** Returns the revision of the claim's event; null if the key has been used before. */
  const claimUnused = async (use: KeyUse): Promise<number | null> => {
    const data = { route: use.route, body_digest: use.bodyDigest };
    try {
      return (await append(use, 'none', { type: 'IdempotencyKeyClaimed', data })).revision;
    } catch (error) {
      if (isConflict(error)) return null;
      throw error;
    }
  };

  return {
    /**
     * Claims the key, or returns how the first request with it ended. Takes over a claim of more than 30 seconds.
     * @throws Refusal idempotency_mismatch, idempotency_in_flight
     * @throws LogError
     */
    claim: async (use: KeyUse): Promise<Claim> => {
      const claimed = await claimUnused(use);
      if (claimed !== null) return { revision: claimed, outcome: null };
      const { key, revision } = await read(use.stream);
      if (key.body_digest !== use.bodyDigest)
        throw new Refusal('idempotency_mismatch', 'This Idempotency-Key was used with another body: use a new key');
      if (key.outcome) return { revision, outcome: key.outcome };
      if (isClaimed(key, new Date(now()).toISOString())) throw inFlight();
      const takenOver = await append(use, revision, { type: 'IdempotencyKeyTaken', data: {} }).catch((error) => {
        throw isConflict(error) ? inFlight() : error;
      });
      return { revision: takenOver.revision, outcome: null };
    },
    /** Ends or releases a claim. @throws LogError conflict if another request has taken over the claim */
    end: (use: KeyUse, { revision }: Claim, event: IdempotencyEvent): Promise<Appended> => append(use, revision, event),
  };
};
