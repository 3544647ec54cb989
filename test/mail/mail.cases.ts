import fc from 'fast-check';
import * as Attachment from '../../domain/mail/attachment.ts';
import * as Mail from '../../domain/mail/mail.ts';
import * as Mailbox from '../../domain/mail/mailbox.ts';
import * as mailbox from '../../projections/mail/mailbox.queries.ts';
import * as message from '../../projections/mail/message.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { AGENT, MIDDLE_TIME, newest, next, pages, type QueryCase, ROW, single, TENANT } from '../fixtures/query-case.ts';
import { repeated } from '../fixtures/repeated-decisions.ts';

/** Returns a test case for a query that may read more rows than a page has, because it reads a batch. */
const batch = (run: QueryCase['run']): Record<string, QueryCase> => ({ call: { rows: 'tenant', run } });

const AGENT_REF = { tenant_id: TENANT, agent_id: AGENT };

const queries: AreaCases['queries'] = {
  mailboxPage: pages((reads, window) => mailbox.mailboxPage(reads, {}, window)),
  agentMailboxPage: {
    ...pages((reads, window) => mailbox.agentMailboxPage(reads, AGENT_REF, window)),
    'of a kind': { rows: 'tenant', run: (reads) => mailbox.agentMailboxPage(reads, { ...AGENT_REF, kind: 'text 7' }, newest) },
  },
  messagePage: {
    ...pages((reads, window) => message.messagePage(reads, AGENT_REF, {}, window)),
    'in a direction': { rows: 'page', run: (reads) => message.messagePage(reads, AGENT_REF, { direction: 'text 7' }, next) },
    'in a period': {
      rows: 'page',
      run: (reads) => message.messagePage(reads, AGENT_REF, { from: '2026-05-01T00:00:00.000Z', to: MIDDLE_TIME }, newest),
    },
  },
  attachmentPage: {
    ...pages((reads, window) => message.attachmentPage(reads, AGENT_REF, {}, window)),
    'of a message': { rows: 'page', run: (reads) => message.attachmentPage(reads, AGENT_REF, { message_id: 'text 7' }, newest) },
    'with a part of the name': { rows: 'page', run: (reads) => message.attachmentPage(reads, AGENT_REF, { q: 'r050007' }, newest) },
  },
  attachmentsWithIds: single((reads) => message.attachmentsWithIds(reads, AGENT_REF, [ROW])),
  attachmentsOfMessages: batch((reads) =>
    message.attachmentsOfMessages(reads, { tenant_id: TENANT, ids: ['text 7'], attachment_ids: ['text 8'] }),
  ),
  mailFilesWithDigest: {
    ...batch((reads) => message.mailFilesWithDigest(reads, { tenant_id: TENANT, sha256: 'text 7' })),
    'of one agent': {
      rows: 'tenant',
      run: (reads) => message.mailFilesWithDigest(reads, { tenant_id: TENANT, sha256: 'text 7', agent_id: AGENT }),
    },
  },
  mailDueAt: batch((reads) => message.mailDueAt(reads, MIDDLE_TIME)),
  mailboxCounts: single((reads) => mailbox.mailboxCounts(reads, ROW)),
  existingMailboxes: single((reads) => mailbox.existingMailboxes(reads, [ROW])),
  enabledExternalMailboxes: batch((reads) => mailbox.enabledExternalMailboxes(reads).next()),
};

const wanted: Mailbox.NewMailbox = { tenant_id: 't', agent_id: 'a', kind: 'internal', address: 'a.t@mail.test' };

const sent: Mail.SentFields = {
  ...{ agent_id: 'a', mailbox_ids: [], internal: [], external: [0, 1], in_reply_to: null, attachment_ids: [], sealed_content: '' },
};

const file = { agent_id: 'a', message_id: 'm', filename: 'f', content_type: 'text/plain', size_bytes: 1, sha256: '0' };

const decisions: AreaCases['decisions'] = [
  repeated(Mailbox, [], {
    'mail/mailbox.ts converge': fc.boolean().map((isAllowed) => Mailbox.converge(wanted, isAllowed)),
    'mail/mailbox.ts setPaused': fc.boolean().map(Mailbox.setPaused),
  }),
  repeated(Mail, [], {
    'mail/mail.ts send': fc.constant(Mail.send(sent)),
    'mail/mail.ts recordReport': fc
      .array(fc.nat({ max: 3 }), { maxLength: 3 })
      .map((recipients) => Mail.recordReport(recipients.map((recipient) => ({ recipient, reason: '550' })))),
    'mail/mail.ts recordAttempt': fc
      .tuple(fc.integer({ min: 1, max: 3 }), fc.constantFrom([], [0], [0, 1]))
      .map(([attempt, delivered]) => Mail.recordAttempt({ attempt, delivered, bounces: [], reason: '451' }, 0)),
  }),
  repeated(Attachment, [], { 'mail/attachment.ts add': fc.constant(Attachment.add(file)) }),
];

export const cases: AreaCases = { queries, decisions };
