import type { Recorded } from '../event.ts';
import type { MailFile } from './content.ts';

export const category = 'mailattachment';

type AddedFields = Omit<MailFile, 'attachment_id'> & { agent_id: string; message_id: string };

export type AttachmentEvent = { type: 'MailAttachmentAdded'; data: AddedFields };

/** Added to a message after it was received or sent. */
export type Attachment = AddedFields & { status: 'absent' | 'present'; id: string; created_at: string };

export const initial: Attachment = {
  status: 'absent',
  id: '',
  agent_id: '',
  message_id: '',
  filename: '',
  content_type: '',
  size_bytes: 0,
  sha256: '',
  created_at: '',
};

export const evolve = (attachment: Attachment, { data, id, at }: Recorded<AttachmentEvent>): Attachment => ({
  ...attachment,
  ...data,
  status: 'present',
  id,
  created_at: at,
});

export const add =
  (data: AddedFields) =>
  ({ status }: Attachment): AttachmentEvent[] =>
    status === 'absent' ? [{ type: 'MailAttachmentAdded', data }] : [];
