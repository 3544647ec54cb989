import { join } from 'node:path';
import { inboundSubject } from '../../domain/runners/cloud-event.ts';
import type { RunnerAgent, RunnerApi } from './api-client.ts';
import { openLiveSession } from './live-session.ts';
import { type MessageConsumer, openMessages } from './message-consumer.ts';
import { openProcessedIds, type ProcessedIds } from './processed-ids.ts';
import type { EventHandler } from './receive-events.ts';
import { keepSessionOrder, type OrderedConsumer } from './session-order.ts';

type Options = {
  readonly api: RunnerApi;
  readonly agent: RunnerAgent;
  readonly report: (line: string) => void;
  /** The directory for the files of processed ids, one per agent. */
  readonly dir: string;
  readonly progressMs?: number | undefined;
};

type Opened = {
  readonly open: (ending: AbortSignal) => MessageConsumer;
  readonly processed: ProcessedIds;
  /** Returns a handler that gets the live session of each event of a session. */
  readonly steered: (handler: EventHandler) => EventHandler;
};

/**
 * Opens the ids of the processed events of an agent, and returns them with the function that opens its messages. The
 * messages of each session are handed out in their order, or given to the handler that works on the session.
 */
export const openInOrder = ({ api, agent, report, dir, progressMs }: Options): Opened => {
  const known = openProcessedIds(join(dir, `${agent.agent}.ledger`));
  const findSettled = (ids: readonly string[]): Promise<readonly string[]> => api.settledMessages(agent, ids);
  const subject = inboundSubject(agent.tenant, agent.agent);
  /** The events that a handler has consumed besides its own, by the id of its own. */
  const consumed = new Map<string, readonly string[]>();
  let opened: { readonly ordered: OrderedConsumer; readonly ending: AbortSignal } | undefined;
  const processed: ProcessedIds = {
    has: known.has,
    add: (id) => {
      for (const each of [id, ...(consumed.get(id) ?? [])]) known.add(each);
      consumed.delete(id);
      opened?.ordered.recheck();
    },
  };
  const open = (ending: AbortSignal): MessageConsumer => {
    const ordered = keepSessionOrder(openMessages(api, agent, report)(ending), { processed, findSettled, report, progressMs });
    opened = { ordered, ending };
    return ordered;
  };
  const steered =
    (handler: EventHandler): EventHandler =>
    async (received) => {
      const { event } = received;
      if (event.session === undefined || !opened) return handler(received);
      const { ordered, ending } = opened;
      const live = await openLiveSession(event, (onMessage) => ordered.listen(subject, onMessage), ending);
      const failure = await handler({ ...received, live });
      const others = live.close();
      if (failure && !live.signal.aborted) return failure;
      consumed.set(event.id, others);
      return null;
    };
  return { open, processed, steered };
};
