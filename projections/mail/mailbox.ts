import { z } from 'zod';
import { type DeliveryEvent, factsOf } from '../../domain/deliveries/delivery.ts';
import type { MailFacts } from '../../domain/deliveries/mail-delivery.ts';
import type { Recorded } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import type { MailEvent } from '../../domain/mail/mail.ts';
import * as Mailbox from '../../domain/mail/mailbox.ts';
import { omit } from '../../domain/omit.ts';
import { add, type Change, insert, insertDerived, type Projection, patch, type Row } from '../projection.ts';
import type { Table } from '../table.ts';

const Address = z.string().meta({ description: 'The e-mail address', examples: ['reviewer.acme@mail.example.com'] });
const Kind = z
  .enum(Mailbox.MAILBOX_KINDS)
  .meta({ description: '`internal`: for mail between agents of the tenant; `external`: for all other mail' });

const AdminMailbox = {
  id: idOf('mailbox'),
  address: Address,
  kind: Kind,
  tenant_id: idOf('tenant'),
  agent_id: idOf('agent'),
  message_count: z.int().meta({ description: 'How many messages it has sent and received', examples: [12] }),
  last_message_at: Timestamp.nullable().meta({ description: 'When it last sent or received a message; null if never' }),
  is_paused: z.boolean().meta({
    description: 'Whether it exchanges no mail: it was paused, or the tenant or the agent does not allow external mail',
    examples: [false],
  }),
  created_at: Timestamp,
  updated_at: Timestamp,
};

/** A mailbox as the read model stores it. It contains no names, because names can change. */
export const StoredMailbox = z.object(AdminMailbox);

export const AdminMailboxRow = z
  .object({
    ...AdminMailbox,
    tenant_name: z.string().meta({ description: 'The name of the tenant', examples: ['Acme'] }),
    agent_name: z
      .string()
      .nullable()
      .meta({ description: 'The name of the agent; null if it is deleted', examples: ['Reviewer'] }),
  })
  .meta({ id: 'AdminMailboxRow' });

export const AgentMailboxRow = z
  .object({
    id: idOf('mailbox'),
    address: Address,
    kind: Kind,
    is_active: z.boolean().meta({ description: 'Whether the mailbox exchanges mail', examples: [true] }),
    created_at: Timestamp,
  })
  .meta({ id: 'AgentMailboxRow' });

/** `enabled_external_id` is the id of an external mailbox that is enabled; null for any other mailbox. */
export const table = {
  name: 'mailboxes',
  key: ['id'],
  stream: Mailbox.category,
  isReadByChanges: true,
  columns: {
    id: 'text',
    tenant_id: 'text',
    agent_id: 'text',
    address: 'text',
    kind: 'text',
    is_enabled: 'boolean',
    is_paused_by_person: 'boolean',
    enabled_external_id: 'text',
    is_paused: 'boolean',
    last_message_at: 'timestamptz',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  counters: ['message_count'],
  docs: { doc: StoredMailbox, agent_doc: AgentMailboxRow },
  search: ['address'],
  indexes: [
    { columns: ['created_at', 'id'] },
    { columns: ['address', 'id'] },
    { columns: ['tenant_id', 'agent_id', 'created_at', 'id'] },
    { columns: ['enabled_external_id'], withoutNull: 'enabled_external_id' },
  ],
} as const satisfies Table;

const shown = (mailbox: Mailbox.Mailbox): Row => {
  const row = omit(mailbox, 'status');
  const is_active = Mailbox.isActive(mailbox);
  const enabled_external_id = row.kind === 'external' && row.is_enabled ? row.id : null;
  return { ...row, is_active, is_paused: !is_active, enabled_external_id };
};

const change = (event: Recorded<Mailbox.MailboxEvent>): Change => {
  const { id } = event;
  const complete = ({ row }: Readonly<Record<string, Row | null>>): Row => {
    const before = { ...Mailbox.initial, ...row, status: 'present' } as Mailbox.Mailbox;
    return { ...row, ...shown(Mailbox.evolve(before, event)) };
  };
  return insertDerived(table.name, { id }, { reads: { row: { table: table.name, key: { id } } }, complete });
};

const countMessage = (id: string | null, at: string): readonly Change[] =>
  id === null ? [] : [add(table.name, { id }, { message_count: 1 }), patch(table.name, { id }, { last_message_at: at })];

export const mailboxes = {
  name: 'mailboxes',
  version: 2,
  categories: [Mailbox.category, 'mail', 'delivery'],
  tables: [table],
  on: {
    MailboxProvisioned: (event) =>
      insert(table.name, { ...shown(Mailbox.evolve(Mailbox.initial, event)), message_count: 0, last_message_at: null }),
    MailboxEnabled: change,
    MailboxDisabled: change,
    MailboxPaused: change,
    MailboxResumed: change,
    MailSent: ({ data, at }) => data.mailbox_ids.flatMap((id) => countMessage(id, at)),
    MailReceived: (event) => countMessage((factsOf(event) as MailFacts).mail.mailbox_id, event.at),
    DeliveryReleased: ({ data, at }) => countMessage(data.mail?.mailbox_id ?? null, at),
  },
} as const satisfies Projection<
  Mailbox.MailboxEvent | Extract<MailEvent, { type: 'MailSent' }> | Extract<DeliveryEvent, { type: 'MailReceived' | 'DeliveryReleased' }>
>;
