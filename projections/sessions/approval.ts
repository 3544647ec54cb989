import { z } from 'zod';
import { type Recorded, sortKey } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { omit } from '../../domain/omit.ts';
import * as Approval from '../../domain/sessions/approval.ts';
import { type Change, type Handler, insert, patch } from '../projection.ts';
import type { Table } from '../table.ts';

const fields = {
  id: idOf('message', 'The message with which the agent asks'),
  session_id: idOf('session'),
  agent_id: idOf('agent'),
  status: z.enum(Approval.APPROVAL_STATUSES).meta({
    description: '`open`: there is no decision yet; `expired`: there was none in time; `cancelled`: the session ended before one',
  }),
  sha256: z.string().meta({
    description:
      'The SHA-256, in hex, of what is shown: of the JSON of `action`, `detail` and `expires_at`, in this order and without spaces. The event of the decision contains it',
    examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
  }),
  expires_at: Timestamp.nullable().meta({
    description: 'The time until which people can decide; null: until the end of the session',
    examples: [null],
  }),
  decided_by_id: idOf('user').nullable().meta({ description: 'The user who has decided' }),
  decided_at: Timestamp.nullable().meta({ description: 'When it was decided, expired or cancelled; null while it is open' }),
  created_at: Timestamp.meta({ description: 'When the agent asked' }),
};

const optionalText = (description: string, example: string) =>
  z
    .string()
    .nullable()
    .meta({ description, examples: [example] });

export const ApprovalRead = z
  .object({
    ...fields,
    action: optionalText('What the agent wants to do; null if it can no longer be decrypted', 'Merge pull request 42'),
    detail: optionalText('What a person must know to decide. Lists leave it out', 'All checks have passed.').optional(),
    comment: optionalText('The comment of the decision. Lists leave it out', 'Only after 18:00.').optional(),
    decided_by_name: optionalText('The name of this user', 'Ada Lovelace'),
    decided_by_email: optionalText('The e-mail address of this user', 'ada@example.com'),
  })
  .meta({ id: 'ApprovalRead' });

/** `place` is the position of the event with the encrypted texts, which only the log contains. */
const ApprovalRow = z.object({ ...fields, place: z.string() });
export type ApprovalDoc = z.output<typeof ApprovalRow>;

/** `due_at` is the time at which the approval expires; null if it does not, or is not open. */
export const approvalTable = {
  name: 'approvals',
  key: ['tenant_id', 'id'],
  columns: {
    tenant_id: 'text',
    id: 'text',
    agent_id: 'text',
    session_id: 'text',
    status: 'text',
    created_at: 'timestamptz',
    due_at: 'timestamptz',
  },
  docs: { doc: ApprovalRow },
  indexes: [
    { columns: ['tenant_id', 'created_at', 'id'] },
    { columns: ['tenant_id', 'status', 'created_at', 'id'] },
    { columns: ['tenant_id', 'agent_id', 'created_at', 'id'] },
    { columns: ['tenant_id', 'agent_id', 'status', 'created_at', 'id'] },
    { columns: ['due_at', 'id'], withoutNull: 'due_at' },
  ],
} as const satisfies Table;

type Handlers = { readonly [T in Approval.ApprovalEvent['type']]: Handler<Extract<Approval.ApprovalEvent, { type: T }>> };
type Closing = Recorded<Exclude<Approval.ApprovalEvent, { type: 'ApprovalRequested' }>>;

const closed = (event: Closing): Change[] => {
  const { tenant: tenant_id, id, at, actor, data } = event;
  const decided_by_id = event.type === 'ApprovalDecided' && actor.kind === 'user' ? actor.id : null;
  const status = Approval.statusAfterApproval(event);
  return [
    patch('approvals', { tenant_id, id: data.message_id }, { status, decided_by_id, decided_at: at, due_at: null }),
    patch('sessions', { tenant_id, id }, { status: 'running' }),
  ];
};

export const onApproval = {
  ApprovalRequested: (event) => {
    const { message_id: id, ...row } = omit(Approval.requestedApproval(event), 'sealed_request', 'sealed_comment');
    return insert('approvals', { ...row, id, tenant_id: event.tenant, due_at: row.expires_at, place: sortKey(event.position) });
  },
  ApprovalDecided: closed,
  ApprovalExpired: closed,
  ApprovalCancelled: closed,
} as const satisfies Handlers;
