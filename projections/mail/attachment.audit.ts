import type { AttachmentEvent } from '../../domain/mail/attachment.ts';
import type { AuditOf } from '../audit-record.ts';

export const attachmentAudit = {
  MailAttachmentAdded: { summary: 'added the file {filename} to a message of the agent {agent}', activity: 'create' },
} satisfies AuditOf<AttachmentEvent>;
