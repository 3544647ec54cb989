import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Msg } from 'nats';
import { comparePositions, parseToken } from '../../domain/event.ts';
import { inboundSubject } from '../../domain/runners/cloud-event.ts';
import { REPEATED_POSITION } from '../../domain/runners/session-message.ts';
import type { RunnerAgent, RunnerApi } from './api-client.ts';
import type { OpenedSession } from './live-session.ts';
import { createLiveSessions } from './live-sessions.ts';
import { type MessageConsumer, openMessages } from './message-consumer.ts';
import { openProcessedIds, type ProcessedIds } from './processed-ids.ts';
import type { Arrived, Steering } from './receive-events.ts';
import { sentAfter } from './sent-in-session.ts';
import { keepSessionOrder, type OrderedConsumer, type OrderOptions } from './session-order.ts';

/** How long an event waits for the service to say what persons have done in its session, in milliseconds. */
const SENT_TIMEOUT_MS = 2_000;

type Options = {
  readonly api: RunnerApi;
  readonly agent: RunnerAgent;
  readonly report: (line: string) => void;
  /** The directory for the files of processed ids, one per agent. */
  readonly dir: string;
  readonly progressMs?: number | undefined;
};

type Opened = {
  readonly open: (ending: AbortSignal, working: OrderOptions['working']) => OrderedConsumer;
  readonly processed: ProcessedIds;
  readonly steered: Steering;
};

/** Yields `first` and what follows it without a gap, and removes that from `taken`. */
const chainFrom = function* (taken: Map<string, string>, first: string): Generator<string> {
  for (let id: string | undefined = first; id !== undefined; ) {
    yield id;
    const next = taken.get(id);
    taken.delete(id);
    id = next;
  }
};

/** Whether a person has stopped the session after the event of this message. */
const isStoppedAfter = ({ headers }: Msg, stoppedAt: string | null): boolean => {
  const own = parseToken(headers?.get(REPEATED_POSITION) || headers?.get('Annals-Position') || '');
  const stopped = parseToken(stoppedAt ?? '');
  return own !== null && stopped !== null && comparePositions(stopped, own) > 0;
};

/** Messages of each session are handed out in order, or passed to the handler that works on the session. */
export const openInOrder = ({ api, agent, report, dir, progressMs }: Options): Opened => {
  const known = openProcessedIds(join(dir, `${agent.agent}.ledger`));
  const findSettled = (ids: readonly string[]): Promise<readonly string[]> => api.settledMessages(agent, ids);
  /** Events that handlers have taken besides their own. The key is the event before. */
  const taken = new Map<string, string>();
  let opened: (OrderedConsumer & { readonly ending: AbortSignal }) | undefined;
  const processed: ProcessedIds = {
    has: known.has,
    add: (id) => {
      for (const each of chainFrom(taken, id)) known.add(each);
      opened?.recheck();
    },
  };
  const sessions = createLiveSessions(inboundSubject(agent.tenant, agent.agent), known);
  const open: Opened['open'] = (ending, working) => {
    const messages = openMessages(api, agent, report)(ending);
    const pull: MessageConsumer['pull'] = async (onLate) => {
      const message = await messages.pull((late) => {
        sessions.offer(late);
        onLate(late);
      });
      if (message) sessions.offer(message);
      return message;
    };
    const ordered = keepSessionOrder({ ...messages, pull }, { processed, working, findSettled, report, progressMs });
    ending.addEventListener('abort', ordered.stop, { once: true });
    opened = { ...ordered, ending };
    return opened;
  };
  /** A stop settles the event, even if its handler is still to run. */
  const steer = async ({ event, message }: Arrived, source: NonNullable<typeof opened>, work: Parameters<Steering>[1]) => {
    const { id, session = '' } = event;
    const live = await sessions.open({ id, session }, source);
    // Messages that are still at the broker, such as a stop, are unknown here. So each run asks the service for them; if no answer comes in
    // time, it continues.
    const run: OpenedSession['run'] = async (handle) => {
      const late = sleep(SENT_TIMEOUT_MS, null, { ref: false });
      const read = (limit: number) => api.sentInSession(agent, session, limit);
      const sent = live.signal.aborted ? null : await Promise.race([sentAfter(id, read).catch(() => null), late]);
      if (sent && isStoppedAfter(message, sent.stoppedAt)) return null;
      live.take((sent?.messages ?? []).filter((event) => !known.has(event.id)));
      return live.run(handle);
    };
    const failure = await work({ ...live, run });
    const others = live.close();
    if (failure && !live.signal.aborted) return failure;
    for (const { id: other, previous } of others) taken.set(previous, other);
    return null;
  };
  const steered: Steering = async (arrived, work) => {
    const { event } = arrived;
    if (event.session === undefined || !opened) return work();
    return steer(arrived, opened, work);
  };
  return { open, processed, steered };
};
