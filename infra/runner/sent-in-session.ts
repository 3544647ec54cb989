import { z } from 'zod';
import { SPEC_VERSION } from '../../domain/runners/cloud-event.ts';
import type { CloudEvent } from './cloud-event.ts';

/** How many of the last messages of a session a runner reads if the last one is not that on which it is to work. */
const MAX_LAST_MESSAGES = 20;

const Attachment = z.looseObject({ id: z.string() });
const SentMessage = z.object({
  id: z.string(),
  role: z.string(),
  content: z.string().nullable(),
  created_at: z.string(),
  created_by_id: z.string().nullable(),
  attachment_ids: z.array(z.string()),
  event_id: z.uuid().nullish(),
  previous_event_id: z.uuid().nullish(),
  runner_status: z.string().nullish(),
});
export const LastMessages = z.object({
  stopped_position: z.string().nullish(),
  messages: z.array(SentMessage).default([]),
  attachments: z.array(Attachment).default([]),
});
type LastMessages = z.output<typeof LastMessages>;

/** `stoppedAt` is the position of the last stop by a person; null if none. `messages` are persons' last, and may still be at the broker. */
export type SentInSession = { readonly stoppedAt: string | null; readonly messages: readonly CloudEvent[] };

type Agent = Pick<CloudEvent, 'tenant' | 'agent'>;

const eventOf = (
  { tenant, agent }: Agent,
  session: string,
  { event_id, previous_event_id, created_by_id, attachment_ids, runner_status, ...message }: LastMessages['messages'][number],
  attachments: LastMessages['attachments'],
): CloudEvent | null => {
  // A settled message is not at the broker any more: a runner has processed it, or it was given up.
  if (!event_id || (runner_status ?? 'waiting') !== 'waiting') return null;
  const named = attachments.filter(({ id }) => attachment_ids.includes(id));
  const files = named.map(({ id, ...file }) => ({ ...file, attachment_id: id }));
  return {
    specversion: SPEC_VERSION,
    type: 'annals.session.message',
    id: event_id,
    subject: session,
    tenant,
    agent,
    session,
    user: created_by_id ?? '',
    ...(previous_event_id ? { previous: previous_event_id } : {}),
    data: { message, files },
  };
};

/** Returns the messages of persons in the form in which the broker delivers them. */
export const sentInSession = (agent: Agent, session: string, last: LastMessages): SentInSession => ({
  stoppedAt: last.stopped_position ?? null,
  messages: last.messages.flatMap((message) => eventOf(agent, session, message, last.attachments) ?? []),
});

/** Usually, `event_id` is the last event, so one message is read first. `read` returns the last messages. */
export const sentAfter = async (event_id: string, read: (limit: number) => Promise<SentInSession>): Promise<SentInSession> => {
  const last = await read(1);
  return last.messages[0]?.id === event_id ? last : read(MAX_LAST_MESSAGES);
};
