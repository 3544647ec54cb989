import type { MailEvent } from '../../domain/mail/mail.ts';
import type { AuditOf } from '../audit-record.ts';

export const mailAudit = {
  MailSent: { summary: 'sent mail as the agent {agent}', activity: 'create' },
  MailDelivered: { summary: 'delivered mail of the agent {agent}', activity: 'update' },
  MailBounced: { summary: 'recorded that mail of the agent {agent} did not reach everybody', activity: 'update' },
  MailDeferred: { summary: 'could not deliver mail of the agent {agent} yet: {reason}', activity: 'update' },
} satisfies AuditOf<MailEvent>;
