import { z } from 'zod';
import { type DeliveryEvent, factsOf } from '../../domain/deliveries/delivery.ts';
import type { MailFacts } from '../../domain/deliveries/mail-delivery.ts';
import type { Recorded } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import type { AttachmentEvent } from '../../domain/mail/attachment.ts';
import type { MailFile } from '../../domain/mail/content.ts';
import * as Mail from '../../domain/mail/mail.ts';
import { type Change, insert, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';

export const AgentAttachmentRow = z
  .object({
    id: idOf('attachment'),
    message_id: idOf('message', 'The message to which the file is attached'),
    filename: z.string().meta({ description: 'The name of the file', examples: ['report.pdf'] }),
    content_type: z.string().meta({
      description: 'The media type of the file: as the sender of the mail has declared it, unless its content is of another type',
      examples: ['application/pdf'],
    }),
    size_bytes: z.int().meta({ description: 'The size of the file in bytes', examples: [48211] }),
    created_at: Timestamp,
  })
  .meta({ id: 'AgentAttachmentRow' });

/** Identifies the message of a row. Only the log contains its content. */
const MessageRef = z.object({ id: z.string() });

/** `due_at` is the time of the next attempt to deliver a sent message; null if no attempt is planned. */
export const messageTable = {
  name: 'messages',
  key: ['tenant_id', 'id'],
  columns: {
    tenant_id: 'text',
    id: 'text',
    agent_id: 'text',
    direction: 'text',
    due_at: 'timestamptz',
    created_at: 'timestamptz',
  },
  docs: { doc: MessageRef },
  indexes: [
    { columns: ['tenant_id', 'agent_id', 'created_at', 'id'] },
    { columns: ['tenant_id', 'agent_id', 'direction', 'created_at', 'id'] },
    { columns: ['due_at', 'tenant_id', 'id'], withoutNull: 'due_at' },
  ],
} as const satisfies Table;

export const attachmentTable = {
  name: 'attachments',
  key: ['tenant_id', 'id'],
  appendOnly: true,
  columns: {
    tenant_id: 'text',
    id: 'text',
    agent_id: 'text',
    message_id: 'text',
    filename: 'text',
    content_type: 'text',
    size_bytes: 'bigint',
    sha256: 'text',
    created_at: 'timestamptz',
  },
  docs: { doc: AgentAttachmentRow },
  search: ['filename'],
  indexes: [
    { columns: ['tenant_id', 'agent_id', 'created_at', 'id'] },
    { columns: ['tenant_id', 'message_id', 'created_at', 'id'] },
    { columns: ['tenant_id', 'sha256', 'agent_id'] },
  ],
} as const satisfies Table;

type FileOwner = { readonly tenant_id: string; readonly agent_id: string; readonly message_id: string; readonly created_at: string };

const insertFile = (owner: FileOwner, { attachment_id: id, ...file }: MailFile): Change => insert('attachments', { ...owner, ...file, id });

const insertReceived = (event: Recorded, { agent_id, mail }: Pick<MailFacts, 'agent_id' | 'mail'>): readonly Change[] => {
  const { tenant: tenant_id, id, at: created_at } = event;
  const owner = { tenant_id, agent_id, message_id: id, created_at };
  return [
    insert('messages', { tenant_id, id, agent_id, direction: 'inbound', due_at: null, created_at }),
    ...mail.attachments.map((file) => insertFile(owner, file)),
  ];
};

/**
 * Returns the change of an event that ends an attempt for some recipients. If recipients are left to be tried again, a
 * MailDeferred follows, which sets the next attempt.
 */
const settle = ({ tenant: tenant_id, id, data }: Recorded<Extract<Mail.MailEvent, { type: 'MailDelivered' | 'MailBounced' }>>): Change =>
  patch('messages', { tenant_id, id }, data.is_last ? { due_at: null } : {});

type MessageEvent = Mail.MailEvent | AttachmentEvent | Extract<DeliveryEvent, { type: 'MailReceived' | 'DeliveryReleased' }>;

/** The messages that agents have sent and received, and their attachments. */
export const messages = {
  name: 'mail',
  version: 2,
  categories: [Mail.category, 'mailattachment', 'delivery'],
  tables: [messageTable, attachmentTable],
  on: {
    MailReceived: (event) => insertReceived(event, factsOf(event) as MailFacts),
    DeliveryReleased: (event) => (event.data.mail ? insertReceived(event, { ...event.data, mail: event.data.mail }) : []),
    MailSent: ({ tenant: tenant_id, id, at, data: { agent_id } }) =>
      insert('messages', { tenant_id, id, agent_id, direction: 'outbound', due_at: at, created_at: at }),
    MailDelivered: settle,
    MailBounced: settle,
    MailDeferred: ({ tenant: tenant_id, id, data }) => patch('messages', { tenant_id, id }, { due_at: data.next_attempt_at }),
    MailAttachmentAdded: ({ tenant: tenant_id, id, at: created_at, data }) => {
      const { agent_id, message_id, ...file } = data;
      return insertFile({ tenant_id, agent_id, message_id, created_at }, { attachment_id: id, ...file });
    },
  },
} as const satisfies Projection<MessageEvent>;
