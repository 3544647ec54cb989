import { containsPattern, defineList, defineQuery } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { AdminMailboxRow, AgentMailboxRow, table } from './mailbox.ts';

export const MAILBOX_SORTS = sortFields(table, AdminMailboxRow);
export const AGENT_MAILBOX_SORTS = sortFields(table, AgentMailboxRow);

type MailboxFilter = { readonly q?: string | undefined; readonly is_paused?: boolean | undefined };

const mailboxList = defineList({ table }, (db, { pattern, is_paused }: { pattern: string | undefined; is_paused: boolean | undefined }) =>
  db
    .selectFrom('mailboxes.mailboxes as mailbox')
    .$if(pattern !== undefined, (query) => query.where('mailbox.search', 'ilike', pattern!))
    .$if(is_paused !== undefined, (query) => query.where('mailbox.is_paused', '=', is_paused!)),
);

/** Returns a page of the mailboxes of the platform. `q` filters by a part of the address. */
export const mailboxPage = (reads: Reads, { q, is_paused }: MailboxFilter, window: PageWindow): Promise<Page> =>
  reads.page(mailboxList, { pattern: q === undefined ? q : containsPattern(q), is_paused }, window);

type AgentMailboxes = { readonly tenant_id: string; readonly agent_id: string; readonly kind?: string | undefined };

const agentMailboxes = defineList({ table, doc: 'agent_doc' }, (db, { tenant_id, agent_id, kind }: AgentMailboxes) =>
  db
    .selectFrom('mailboxes.mailboxes as mailbox')
    .where('mailbox.tenant_id', '=', tenant_id)
    .where('mailbox.agent_id', '=', agent_id)
    .$if(kind !== undefined, (query) => query.where('mailbox.kind', '=', kind!)),
);

/** Returns a page of the mailboxes of an agent, as AgentMailboxRow: all, or only those of a kind. */
export const agentMailboxPage = (reads: Reads, { tenant_id, agent_id, kind }: AgentMailboxes, window: PageWindow): Promise<Page> =>
  reads.page(agentMailboxes, { tenant_id, agent_id, kind }, window);

/** The number of messages that a mailbox has sent and received, and the time of the last one. */
export type MailboxCounts = { readonly message_count: number; readonly last_message_at: string | null };

const counts = defineQuery((db, { id }: { id: string }) =>
  db.selectFrom('mailboxes.mailboxes as mailbox').select(['mailbox.message_count', 'mailbox.last_message_at']).where('mailbox.id', '=', id),
);

/** Returns the counts of a mailbox. They are zero if the read model does not contain the mailbox yet. */
export const mailboxCounts = async (reads: Reads, id: string): Promise<MailboxCounts> => {
  const [found] = await reads.rows(counts, { id });
  return { message_count: Number(found?.message_count ?? 0), last_message_at: found?.last_message_at ?? null };
};

const existing = defineQuery((db, { ids }: { ids: readonly string[] }) =>
  db
    .selectFrom('mailboxes.mailboxes as mailbox')
    .select('mailbox.id')
    .where(({ eb, fn, val }) => eb('mailbox.id', '=', fn.any(val(ids)))),
);

export const existingMailboxes = async (reads: Reads, ids: readonly string[]): Promise<ReadonlySet<string>> =>
  new Set((await reads.rows(existing, { ids })).map(({ id }) => id));

const BATCH_SIZE = 200;

const enabledExternal = defineQuery((db, { after }: { after: string }) =>
  db
    .selectFrom('mailboxes.mailboxes as mailbox')
    .select(['mailbox.id', 'mailbox.tenant_id', 'mailbox.agent_id'])
    .where('mailbox.enabled_external_id', '>', after)
    .orderBy('mailbox.enabled_external_id')
    .limit(({ lit }) => lit(BATCH_SIZE)),
);

type OwnedMailbox = { readonly id: string; readonly tenant_id: string; readonly agent_id: string };

/** Yields all enabled external mailboxes, in batches. */
export async function* enabledExternalMailboxes(reads: Reads): AsyncGenerator<readonly OwnedMailbox[], void> {
  for (let after = ''; ; ) {
    const batch = await reads.rows(enabledExternal, { after });
    if (batch.length > 0) yield batch as OwnedMailbox[];
    if (batch.length < BATCH_SIZE) return;
    after = batch.at(-1)!.id;
  }
}
