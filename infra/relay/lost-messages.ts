import type { NatsConnection } from 'nats';
import type { ReactorCtx } from '../../commands/context.ts';
import { redriveLost, type SentAgain } from '../../commands/deliveries/redeliver.ts';
import { repeatLostMessage } from '../../commands/sessions/repeat-message.ts';
import { type Recorded, streamName } from '../../domain/event.ts';
import * as Session from '../../domain/sessions/session.ts';
import {
  type UnsettledCount,
  type UnsettledRange,
  unsettledCounts,
  unsettledMessages,
} from '../../projections/deliveries/unsettled.queries.ts';
import type { Reads } from '../../projections/read-model.ts';
import { settledAmong } from '../../projections/sessions/settled-message.queries.ts';
import {
  type UnsettledSessionMessage,
  unsettledSessionCounts,
  unsettledSessionMessages,
} from '../../projections/sessions/unsettled-message.queries.ts';
import type { Log } from '../eventstore/event-log.ts';
import { outstandingCount, readOutstandingIds } from '../nats/outstanding-messages.ts';
import { createIdSet } from './acknowledged-ids.ts';
import { recordSettlement } from './record-acknowledgements.ts';

/**
 * Published, neither acknowledged nor given up in the log, and gone from the broker. `place` is the sort key of its log position;
 * `settled_id` is the id under which the log records that it is settled.
 */
export type LostMessage = {
  readonly tenant: string;
  readonly agent_id: string;
  readonly message_id: string;
  readonly settled_id: string;
  readonly place: string;
  readonly of: { readonly delivery_id: string } | UnsettledSessionMessage;
};

type Agent = { readonly tenant_id: string; readonly agent_id: string };
type SendParts = { readonly ctx: ReactorCtx; readonly log: Log; readonly reads: Pick<Reads, 'rows'> };
type Services = { readonly nats: NatsConnection; readonly reads: Pick<Reads, 'rows'> };

/** Yields the messages to an agent that the read models show as neither acknowledged nor given up. */
async function* unsettledOf(reads: Services['reads'], range: UnsettledRange, agent: Agent): AsyncGenerator<LostMessage> {
  const { tenant_id: tenant, agent_id } = agent;
  for await (const page of unsettledMessages(reads, { ...range, ...agent }))
    for (const { id, message_id, place } of page)
      yield { tenant, agent_id, message_id, settled_id: message_id, place, of: { delivery_id: id } };
  for await (const page of unsettledSessionMessages(reads, { ...range, ...agent }))
    for (const of of page) yield { tenant, agent_id, message_id: of.message_id, settled_id: of.event_id, place: of.place, of };
}

/** The broker does not have these messages. */
const missingOf = async ({ nats, reads }: Services, range: UnsettledRange, agent: Agent): Promise<LostMessage[]> => {
  const outstanding = createIdSet();
  await readOutstandingIds(nats, agent.tenant_id, agent.agent_id, outstanding.add);
  const missing: LostMessage[] = [];
  for await (const message of unsettledOf(reads, range, agent)) if (!outstanding.has(message.message_id)) missing.push(message);
  return missing;
};

/** One entry for each agent. */
const countsOf = async (reads: Services['reads'], range: UnsettledRange): Promise<UnsettledCount[]> => {
  const counts = [...(await unsettledCounts(reads, range)), ...(await unsettledSessionCounts(reads, range))];
  const groups = Map.groupBy(counts, ({ tenant_id, agent_id }) => `${tenant_id} ${agent_id}`).values();
  return Array.from(groups, (group) => ({
    ...group[0]!,
    count: group.reduce((sum, { count }) => sum + count, 0),
    due: group.reduce((sum, { due }) => sum + due, 0),
  }));
};

/** Asks the broker about single messages only if it has fewer than the read models show. @throws the reason of the aborted signal */
export const findMissing = async (services: Services, range: UnsettledRange, signal: AbortSignal): Promise<LostMessage[]> => {
  const missing: LostMessage[] = [];
  for (const { count, due, ...agent } of await countsOf(services.reads, range)) {
    signal.throwIfAborted();
    if (due === 0 || (await outstandingCount(services.nats, agent.tenant_id, agent.agent_id)) >= count) continue;
    missing.push(...(await missingOf(services, range, agent)));
  }
  return missing;
};

/** Whether a runner has acknowledged a later message of the session. @throws LogError, Refusal unavailable */
const isPassed = async ({ log, reads }: SendParts, { tenant, agent_id }: LostMessage, of: UnsettledSessionMessage): Promise<boolean> => {
  const later: string[] = [];
  for await (const event of log.read(streamName(Session.category, tenant, of.session_id), { from: of.event_revision + 1 }))
    if (Session.isSent(event as Recorded<Session.SessionEvent>)) later.push(event.event_id);
  const settled = await settledAmong(reads, { tenant_id: tenant, agent_id, event_ids: later });
  return settled.some(({ outcome }) => outcome === 'acknowledged');
};

const outcomeOf = (result: SentAgain): 'sent' | 'skipped' => ('skipped' in result ? 'skipped' : 'sent');

/**
 * A runner processes a message of a session only after the one before is settled. So if it has processed a later one, only the report about
 * this one was lost, and it is recorded as acknowledged. Any other message is sent again.
 */
export const settleOrSend = async (parts: SendParts, lost: LostMessage): Promise<'sent' | 'settled' | 'skipped'> => {
  const { ctx, log } = parts;
  const { tenant, agent_id, message_id, of } = lost;
  if ('delivery_id' in of) return outcomeOf(await redriveLost(ctx, { tenant, agent_id, message_id, ...of }, false));
  const { session_id, event_id, event_revision: revision } = of;
  if (!(await isPassed(parts, lost, of)))
    return outcomeOf(await repeatLostMessage(ctx, { tenant, agent_id, session_id, event_id, revision, message_id }, false));
  // How many attempts there were is not known.
  const settled = { session_id, event_id, at: ctx.at(), attempts: 1, outcome: 'acknowledged' } as const;
  await recordSettlement(log, { tenant, agent: agent_id }, settled);
  return 'settled';
};
