import type { Logger } from 'pino';
import type { Ctx } from '../../commands/context.ts';
import type { RecordMemoryRead } from '../../commands/memory/memory-reads.ts';
import * as Disclosure from '../../domain/audit/disclosure.ts';

const HOUR_MS = 3_600_000;
const FLUSH_INTERVAL_MS = 60_000;

/**
 * The reads of one runner key in one hour. `first` is done when the first read of the hour is recorded. `entries` is the
 * number of entries of the later reads, which are not recorded yet; `ctx` is the context of the last one.
 */
type KeyHour = { readonly hour: number; readonly first: Promise<unknown>; readonly agent_id: string; ctx: Ctx; entries: number };

const write = (ctx: Ctx, agent_id: string, entries: number): Promise<unknown> =>
  ctx.transact(Disclosure, ctx.newId(), Disclosure.record({ type: 'MemoryDisclosed', data: { agent_id, entries } }), { expectNew: true });

/**
 * A runner that reads often must not fill the log. So the first read of a runner key in an hour is recorded before its response. All later
 * reads of the hour are recorded together, as a number of entries, when the hour is over or the process ends.
 */
export const createMemoryReadRecorder = ({ logger, now }: { readonly logger: Pick<Logger, 'warn'>; readonly now: () => number }) => {
  const hours = new Map<string, KeyHour>();
  const hourOf = (): number => Math.floor(now() / HOUR_MS);

  const finish = async ({ ctx, agent_id, entries }: KeyHour): Promise<void> => {
    if (entries > 0)
      await write(ctx, agent_id, entries).catch((error: Error) =>
        logger.warn({ agent_id, entries, error: error.message }, 'reads of a memory could not be recorded and are lost'),
      );
  };

  const flush = async (isLast: boolean): Promise<void> => {
    const ended = [...hours].filter(([, { hour }]) => isLast || hour !== hourOf());
    for (const [key_id] of ended) hours.delete(key_id);
    await Promise.all(ended.map(([, known]) => finish(known)));
  };

  let flushing: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    flushing = Promise.all([flushing, flush(false)]);
  }, FLUSH_INTERVAL_MS).unref();

  const record: RecordMemoryRead = async (ctx, agent_id, entries) => {
    const { principal } = ctx;
    if (principal.kind !== 'runner' || entries === 0) return;
    const known = hours.get(principal.key_id);
    if (known?.hour === hourOf()) {
      // Count before the wait: the hour can end meanwhile, and the count is recorded.
      Object.assign(known, { ctx, entries: known.entries + entries });
      await known.first;
      return;
    }
    const first = write(ctx, agent_id, entries);
    hours.set(principal.key_id, { hour: hourOf(), first, agent_id, ctx, entries: 0 });
    await Promise.all([first, known && finish(known)]).catch((error: unknown) => {
      hours.delete(principal.key_id);
      throw error;
    });
  };

  const recordAll = async (): Promise<void> => {
    await flushing;
    await flush(true);
  };

  return {
    record,
    recordAll,
    close: (): Promise<void> => {
      clearInterval(timer);
      return recordAll();
    },
  };
};
