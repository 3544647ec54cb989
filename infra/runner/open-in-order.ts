import { join } from 'node:path';
import type { RunnerAgent, RunnerApi } from './api-client.ts';
import { type MessageConsumer, openMessages } from './message-consumer.ts';
import { openProcessedIds, type ProcessedIds } from './processed-ids.ts';
import { keepSessionOrder, type OrderedConsumer } from './session-order.ts';

type Options = {
  readonly api: RunnerApi;
  readonly agent: RunnerAgent;
  readonly report: (line: string) => void;
  /** The directory for the files of processed ids, one per agent. */
  readonly dir: string;
  readonly progressMs?: number | undefined;
};

type Opened = { readonly open: (ending: AbortSignal) => MessageConsumer; readonly processed: ProcessedIds };

/**
 * Opens the ids of the processed events of an agent, and returns them with the function that opens its messages. The
 * messages of each session are handed out in their order.
 */
export const openInOrder = ({ api, agent, report, dir, progressMs }: Options): Opened => {
  const known = openProcessedIds(join(dir, `${agent.agent}.ledger`));
  const findSettled = (ids: readonly string[]): Promise<readonly string[]> => api.settledMessages(agent, ids);
  let ordered: OrderedConsumer | undefined;
  const processed: ProcessedIds = {
    has: known.has,
    add: (id) => {
      known.add(id);
      ordered?.recheck();
    },
  };
  const open = (ending: AbortSignal): MessageConsumer => {
    ordered = keepSessionOrder(openMessages(api, agent, report)(ending), { processed, findSettled, report, progressMs });
    return ordered;
  };
  return { open, processed };
};
