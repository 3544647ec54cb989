import type { CountedEvents, ErasurePorts } from '../../commands/tenants/erase-tenant.ts';
import { comparePositions, type Position, parseToken, tokenOf } from '../../domain/event.ts';
import type { CountProgress } from '../../domain/tenants/tenant-erasure.ts';
import { category as KEYS } from '../../domain/wrapped-key.ts';
import { throwAsRefusal } from '../aggregates/transact.ts';
import { openReceiptSigner } from '../audit/signing-key.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';
import type { Vault } from '../vault/vault.ts';

/** One call counts the events of a tenant for at most this long, in milliseconds. */
const COUNT_TIME_MS = 15_000;

const START: CountProgress = { streams: 0, events: 0, counted_to: '' };

/**
 * Counts events before the position `until`, without destroyed keys. Continues after `progress`; after `timeMs`, returns the counts so far.
 * The event store filters, so it sends only events of the tenant. Every stream has exactly one event of revision 0, so counts can be added.
 * @throws LogError unavailable if no event could be counted
 */
export const countTenantEvents = async (
  log: Log,
  tenant: string,
  { progress, until }: { readonly progress: CountProgress | null; readonly until: Position },
  timeMs = COUNT_TIME_MS,
): Promise<CountedEvents> => {
  let { streams, events } = progress ?? START;
  const from = (progress && parseToken(progress.counted_to)) ?? undefined;
  let reached = from;
  let isDone = false;
  const { promise: ended, resolve: end } = Promise.withResolvers<null>();
  const finish = (): void => {
    isDone = true;
    end(null);
  };
  const subscription = log.follow({
    from,
    filter: { streamPattern: `^(?!${KEYS}-)[a-z]+-${tenant}\\.` },
    event: ({ revision, position }) => {
      if (isDone || comparePositions(position, until) >= 0) return finish();
      streams += revision === 0 ? 1 : 0;
      events += 1;
      reached = position;
    },
    checkpoint: (position) => {
      if (comparePositions(position, until) >= 0) return finish();
      reached = position;
    },
    caughtUp: finish,
  });
  const timer = setTimeout(() => end(null), timeMs);
  try {
    const failure = await Promise.race([ended, subscription.failure]);
    if (failure) throw failure;
    const counts = { streams, events };
    if (isDone) return { counts, progress: null };
    if (!reached) throw new LogError('unavailable', `the event store has sent no event within ${timeMs} ms`);
    return { counts, progress: { ...counts, counted_to: tokenOf(reached) } };
  } finally {
    clearTimeout(timer);
    await subscription.stop();
  }
};

type Parts = {
  readonly log: Log;
  readonly vault: Pick<Vault, 'destroyDataKeys' | 'seal' | 'open'>;
  readonly now?: () => number;
  readonly countTimeMs?: number;
};

export const erasurePorts = ({ log, vault, now = Date.now, countTimeMs }: Parts): ErasurePorts => {
  const signer = openReceiptSigner({ log, vault, now });
  return {
    destroyKey: async (tenant) => {
      await vault.destroyDataKeys(tenant).catch(throwAsRefusal);
      return new Date(now()).toISOString();
    },
    countEvents: (tenant, progress, until) =>
      countTenantEvents(log, tenant, { progress, until: parseToken(until)! }, countTimeMs).catch(throwAsRefusal),
    newestKeyId: () => signer.newestKeyId().catch(throwAsRefusal),
    sign: (text, key_id) => signer.sign(text, key_id).catch(throwAsRefusal),
  };
};
