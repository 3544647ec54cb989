import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as Session from '../../domain/sessions/session.ts';
import { ApprovalRead } from './approval.ts';

export const TaskMessageRead = z
  .object({
    id: idOf('message'),
    session_id: idOf('session'),
    role: z.enum(Session.MESSAGE_ROLES).meta({ description: 'Who wrote the message' }),
    kind: z
      .enum(Session.MESSAGE_KINDS)
      .nullable()
      .meta({
        description: '`waiting`: the agent waits for an answer; `approval`: it waits until a person decides; null for any other message',
        examples: [null],
      }),
    approval: ApprovalRead.nullable().meta({ description: 'What a person is to decide, and what was decided; null if nothing' }),
    content: z
      .string()
      .nullable()
      .meta({ description: 'The text; null if it can no longer be decrypted', examples: ['Please review pull request 42.'] }),
    model_id: idOf('model').nullable().meta({ description: 'The model that wrote the message; null if none did' }),
    prompt_tokens: z.int().meta({ description: 'The tokens that were sent to the model', examples: [1200] }),
    completion_tokens: z.int().meta({ description: 'The tokens that the model returned', examples: [340] }),
    cost_cents: z.int().meta({ description: 'The cost in US cents, rounded', examples: [2] }),
    runner_status: z
      .enum(['waiting', 'seen', 'given_up'])
      .nullable()
      .meta({
        description:
          'Of a message that is sent to the runner: `waiting` until a runner has processed it, then `seen`; `given_up` after the last failed attempt. Null for any other message, and if it cannot be found out now',
        examples: ['seen'],
      }),
    created_by_id: idOf('user').nullable().meta({ description: 'The user who wrote the message; null if the runner did' }),
    attachment_ids: z.array(idOf('attachment')).meta({ description: 'The files that the message names' }),
    created_at: Timestamp,
  })
  .meta({ id: 'TaskMessageRead' });

const messageEvent = (description: string, example: string | null) =>
  z
    .uuid()
    .nullable()
    .meta({ description, examples: [example] });

export const SessionMessageRead = TaskMessageRead.extend({
  event_id: messageEvent(
    'The `id` of the CloudEvent with which the runner gets the message; null if it is not sent to the runner',
    '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
  ),
  previous_event_id: messageEvent(
    'The event of this session that was sent before this one, as in the attribute `previous` of the CloudEvent; null if there is none',
    null,
  ),
  created_by_name: z
    .string()
    .nullable()
    .meta({ description: 'The name of the user who wrote the message', examples: ['Ada Lovelace'] }),
  created_by_email: z
    .string()
    .nullable()
    .meta({ description: 'The e-mail address of this user', examples: ['ada@example.com'] }),
}).meta({ id: 'SessionMessageRead' });

export const AttachmentRead = z
  .object({
    id: idOf('attachment'),
    filename: z.string().meta({ description: 'The name of the file, without folders', examples: ['report.pdf'] }),
    content_type: z.string().meta({
      description: 'The type, found by the content of the file; `text/plain` for every text',
      examples: ['application/pdf'],
    }),
    size_bytes: z.int().meta({ description: 'The size in bytes', examples: [20480] }),
    sha256: z.string().meta({
      description: 'The SHA-256 of the content in hex',
      examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
    }),
    url: z.string().meta({
      description: 'Where to download the file, for callers who may read the session',
      examples: [
        'https://annals.example.com/tenant/cujzde8gxd6ncf10epf91dhod/files/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      ],
    }),
    created_at: Timestamp,
  })
  .meta({ id: 'AttachmentRead' });
