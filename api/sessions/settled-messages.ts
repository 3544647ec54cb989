import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import { sessions } from '../../projections/sessions/session.ts';
import { MAX_ASKED_MESSAGES, settledAmong } from '../../projections/sessions/settled-message.queries.ts';
import { operation } from '../http/operation.ts';

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const EventIds = z
  .string()
  .regex(
    new RegExp(`^${UUID}(?:,${UUID}){0,${MAX_ASKED_MESSAGES - 1}}$`),
    `must be 1 to ${MAX_ASKED_MESSAGES} ids of events, separated by commas`,
  )
  .meta({
    description: `The ids of 1 to ${MAX_ASKED_MESSAGES} messages, which are the \`id\` of their CloudEvents, separated by commas`,
    examples: ['6f9619ff-8b86-4d01-b42d-00cf4fc964ff'],
  });

export const SettledMessage = z
  .object({
    event_id: z.uuid().meta({ description: 'The `id` of the CloudEvent', examples: ['6f9619ff-8b86-4d01-b42d-00cf4fc964ff'] }),
    outcome: z
      .enum(['acknowledged', 'max_deliveries', 'terminated'])
      .meta({ description: '`acknowledged` by a runner, or given up by the broker after the last attempt or at the request of a runner' }),
  })
  .meta({ id: 'SettledMessage' });

/** With this operation, a runner finds out whether it may process the next message of a session. */
export const settledMessageOperations = {
  listSettledMessages: operation({
    method: 'get',
    path: '/tenant/:tenant_id/agents/:agent_id/settled-messages',
    summary: 'List which messages of sessions are settled',
    details:
      'A runner processes a message of a session after the one that it names as `previous` is settled: acknowledged by any runner, or given up. Settled messages are known a few seconds later.',
    permit: { all: ['agent:read'], runner: true },
    query: z.strictObject({ event_ids: EventIds.optional() }),
    reply: z.array(SettledMessage),
    projection: sessions.name,
    noETag: true,
    run: async (ctx, { tenant_id, agent_id, event_ids }) => {
      const { position } = await loadAgent(ctx, agent_id);
      const found = await settledAmong(ctx.reads, { tenant_id, agent_id, event_ids: event_ids?.split(',') ?? [] });
      return { body: JSON.stringify(z.array(SettledMessage).parse(found)), next: null, position };
    },
  }),
};
