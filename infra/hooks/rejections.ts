import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { streamName } from '../../domain/event.ts';
import type { Integration } from '../../domain/integration.ts';
import { category, type Rejection } from '../../domain/rejection.ts';
import { type Log, LogError, type NewEvent } from '../eventstore/log.ts';
import { randomId } from '../vault/natural-id.ts';
import { type Noted, type Tally, tally } from './tally.ts';

const FLUSH_MS = 1_000;

type Hook = { readonly id: string; readonly tenant: string; readonly tally: Tally };

/** Records rejections in batches, after the answers: a forged post buys no write of its own. */
export const rejections = ({ log, logger, now }: { log: Log; logger: Pick<Logger, 'warn'>; now: () => string }) => {
  const hooks = new Map<string, Hook>();
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();

  const record = async ({ id, tenant, tally: { take, giveBack } }: Hook, last: boolean): Promise<void> => {
    const noted = take(now(), last);
    if (noted.length === 0) return;
    const events = noted.map((entry) => eventOf(id, tenant, entry));
    try {
      await appended(log, streamName(category, tenant, id), events);
    } catch (error) {
      giveBack(noted);
      logger.warn({ error: (error as Error).message, integration: id, rejections: noted.length }, 'rejections could not be recorded yet');
    }
  };

  const flush = async (last: boolean): Promise<void> => {
    for (const hook of [...hooks.values()]) {
      await record(hook, last);
      if (hook.tally.idle(now())) hooks.delete(hook.id);
    }
  };

  const schedule = (): void => {
    timer ??= setTimeout(() => {
      flushing = flush(false).then(() => {
        timer = undefined;
        if (hooks.size > 0) schedule();
      });
    }, FLUSH_MS).unref();
  };

  return {
    rejected: ({ id, tenant_id: tenant }: Integration, rejection: Omit<Rejection, 'delivery_id'>, at: string): void => {
      const hook = hooks.get(id) ?? { id, tenant, tally: tally() };
      hooks.set(id, hook);
      hook.tally.note({ delivery_id: randomId(), ...rejection }, at);
      schedule();
    },
    /** Records what is left, the minute that still runs included. */
    close: async (): Promise<void> => {
      await flushing;
      clearTimeout(timer);
      await flush(true);
    },
  };
};

const ATTEMPTS = 5;

/** Behind whatever stands there: other processes reject too. */
const appended = async (log: Log, stream: string, events: readonly NewEvent[]): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    const last = await log.last(stream);
    try {
      return void (await log.append(stream, last?.revision ?? 'none', events));
    } catch (error) {
      if (!(error instanceof LogError) || error.kind !== 'conflict' || attempt === ATTEMPTS) throw error;
    }
  }
};

const eventOf = (integration: string, tenant: string, { event, at }: Noted): NewEvent => ({
  id: randomUUID(),
  ...event,
  meta: { tenant, actor: { kind: 'system', id: integration }, at, v: 1 },
});
