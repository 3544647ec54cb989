import type { z } from 'zod';
import { type FileSelection, MAX_AGENTS_OF_FILE } from '../file-selection.ts';
import { containsPattern, defineList, defineQuery } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { AgentAttachmentRow, attachmentTable, messageTable } from './message.ts';

type AttachmentRow = z.output<typeof AgentAttachmentRow>;

export const ATTACHMENT_SORTS = sortFields(attachmentTable, AgentAttachmentRow);

type AgentRef = { readonly tenant_id: string; readonly agent_id: string };

/** `from` and `to` are times as RFC 3339; `to` is excluded. */
type MessageFilter = {
  readonly direction?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

const messageList = defineList({ table: messageTable }, (db, { tenant_id, agent_id, direction, from, to }: AgentRef & MessageFilter) =>
  db
    .selectFrom('mail.messages as message')
    .where('message.tenant_id', '=', tenant_id)
    .where('message.agent_id', '=', agent_id)
    .$if(direction !== undefined, (query) => query.where('message.direction', '=', direction!))
    .$if(from !== undefined, (query) => query.where('message.created_at', '>=', from!))
    .$if(to !== undefined, (query) => query.where('message.created_at', '<', to!)),
);

/** Returns a page of the ids of the messages that an agent has sent and received, as objects with `id`. */
export const messagePage = (
  reads: Reads,
  { tenant_id, agent_id }: AgentRef,
  { direction, from, to }: MessageFilter,
  window: PageWindow,
): Promise<Page> => reads.page(messageList, { tenant_id, agent_id, direction, from, to }, window);

/** `q` is a part of the name of the file. */
type AttachmentFilter = { readonly message_id?: string | undefined; readonly q?: string | undefined };
type AttachmentListArgs = AgentRef & { readonly message_id: string | undefined; readonly pattern: string | undefined };

const attachmentList = defineList({ table: attachmentTable }, (db, { tenant_id, agent_id, message_id, pattern }: AttachmentListArgs) =>
  db
    .selectFrom('mail.attachments as attachment')
    .where('attachment.tenant_id', '=', tenant_id)
    .where('attachment.agent_id', '=', agent_id)
    .$if(message_id !== undefined, (query) => query.where('attachment.message_id', '=', message_id!))
    .$if(pattern !== undefined, (query) => query.where('attachment.search', 'ilike', pattern!)),
);

export const attachmentPage = (
  reads: Reads,
  { tenant_id, agent_id }: AgentRef,
  { message_id, q }: AttachmentFilter,
  window: PageWindow,
): Promise<Page> => {
  const pattern = q === undefined ? undefined : containsPattern(q);
  return reads.page(attachmentList, { tenant_id, agent_id, message_id, pattern }, window);
};

export type StoredAttachment = {
  id: string;
  message_id: string;
  filename: string;
  content_type: string;
  size_bytes: number;
  sha256: string;
};

const COLUMNS = [
  'attachment.id',
  'attachment.agent_id',
  'attachment.message_id',
  'attachment.filename',
  'attachment.content_type',
  'attachment.size_bytes',
  'attachment.sha256',
] as const;

const withIds = defineQuery((db, { tenant_id, ids }: { tenant_id: string; ids: readonly string[] }) =>
  db
    .selectFrom('mail.attachments as attachment')
    .select(COLUMNS)
    .where('attachment.tenant_id', '=', tenant_id)
    .where(({ eb, fn, val }) => eb('attachment.id', '=', fn.any(val(ids)))),
);

export const attachmentsWithIds = async (
  reads: Pick<Reads, 'rows'>,
  { tenant_id, agent_id }: AgentRef,
  ids: readonly string[],
): Promise<StoredAttachment[]> =>
  (await reads.rows(withIds, { tenant_id, ids }))
    .filter((row) => row.agent_id === agent_id)
    .map((row) => ({ ...(row as StoredAttachment), size_bytes: Number(row.size_bytes) }));

type OfMessages = { readonly tenant_id: string; readonly ids: readonly string[]; readonly attachment_ids: readonly string[] };

const ofMessages = defineQuery((db, { tenant_id, ids, attachment_ids }: OfMessages) =>
  db
    .selectFrom('mail.attachments as attachment')
    .select('attachment.doc')
    .where('attachment.tenant_id', '=', tenant_id)
    .where(({ eb, fn, val, or }) =>
      or([eb('attachment.message_id', '=', fn.any(val(ids))), eb('attachment.id', '=', fn.any(val(attachment_ids)))]),
    )
    .orderBy('attachment.created_at')
    .orderBy('attachment.id'),
);

/** Returns the attachments of messages, and those with certain ids, as AgentAttachmentRow, the oldest first. */
export const attachmentsOfMessages = async (reads: Reads, selected: OfMessages): Promise<AttachmentRow[]> =>
  (await reads.rows(ofMessages, selected)).map(({ doc }) => JSON.parse(doc) as AttachmentRow);

const filesByDigest = defineQuery((db, { tenant_id, sha256, agent_id }: FileSelection) =>
  db
    .selectFrom('mail.attachments as attachment')
    .distinctOn('attachment.agent_id')
    .select(['attachment.agent_id', 'attachment.filename', 'attachment.content_type'])
    .where('attachment.tenant_id', '=', tenant_id)
    .where('attachment.sha256', '=', sha256)
    .$if(agent_id !== undefined, (query) => query.where('attachment.agent_id', '=', agent_id!))
    .orderBy('attachment.agent_id')
    .limit(({ lit }) => lit(MAX_AGENTS_OF_FILE)),
);

/** Returns the files with this digest in the mail of a tenant or one of its agents, one per agent. */
export const mailFilesWithDigest = async (reads: Reads, selected: FileSelection) =>
  (await reads.rows(filesByDigest, selected)).map(({ agent_id, filename, content_type }) => ({
    ...{ agent_id: agent_id!, filename: filename!, content_type: content_type! },
  }));

/** The maximum number of messages that `mailDueAt` returns. */
export const MAX_DUE_MAIL = 200;

const dueMail = defineQuery((db, { at }: { at: string }) =>
  db
    .selectFrom('mail.messages as message')
    .select(['message.tenant_id', 'message.id'])
    .where('message.due_at', '<=', at)
    .orderBy('message.due_at')
    .limit(({ lit }) => lit(MAX_DUE_MAIL)),
);

/**
 * Returns the sent messages that must be delivered at the time `at`. Those that have been due for longest come first.
 */
export const mailDueAt = (reads: Pick<Reads, 'rows'>, at: string): Promise<{ tenant_id: string; id: string }[]> =>
  reads.rows(dueMail, { at });
