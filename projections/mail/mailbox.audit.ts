import type { MailboxEvent } from '../../domain/mail/mailbox.ts';
import type { AuditOf } from '../audit-record.ts';

export const mailboxAudit = {
  MailboxProvisioned: { summary: 'gave the agent {agent} the mailbox {address}', activity: 'create' },
  MailboxEnabled: { summary: 'enabled a mailbox of the agent {agent}', activity: 'update' },
  MailboxDisabled: { summary: 'disabled a mailbox of the agent {agent}, because external mail is not allowed', activity: 'update' },
  MailboxPaused: { summary: 'paused a mailbox of the agent {agent}', activity: 'update' },
  MailboxResumed: { summary: 'resumed a mailbox of the agent {agent}', activity: 'update' },
} satisfies AuditOf<MailboxEvent>;
