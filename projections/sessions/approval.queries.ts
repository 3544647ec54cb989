import { defineList, defineQuery } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { approvalTable as table } from './approval.ts';

/** Approvals of a tenant. With `agent_ids`, only those of these agents. */
type SelectedApprovals = {
  readonly tenant_id: string;
  readonly agent_ids: readonly string[] | undefined;
  readonly agent_id: string | undefined;
  readonly status: string | undefined;
};

const approvalList = defineList({ table }, (db, { tenant_id, agent_ids, agent_id, status }: SelectedApprovals) =>
  db
    .selectFrom('sessions.approvals as approval')
    .where('approval.tenant_id', '=', tenant_id)
    .$if(agent_ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('approval.agent_id', '=', fn.any(val(agent_ids!)))))
    .$if(agent_id !== undefined, (query) => query.where('approval.agent_id', '=', agent_id!))
    .$if(status !== undefined, (query) => query.where('approval.status', '=', status!)),
);

/** Returns a page of the approvals of a tenant, without their texts. */
export const approvalPage = (reads: Reads, selected: SelectedApprovals, window: PageWindow): Promise<Page> =>
  reads.page(approvalList, selected, window);

/** The maximum number of approvals that `approvalsDueAt` returns. */
export const MAX_DUE_APPROVALS = 200;

const dueApprovals = defineQuery((db, { at }: { at: string }) =>
  db
    .selectFrom('sessions.approvals as approval')
    .select(['approval.tenant_id', 'approval.session_id'])
    .where('approval.due_at', '<=', at)
    .orderBy('approval.due_at')
    .limit(({ lit }) => lit(MAX_DUE_APPROVALS)),
);

/**
 * Returns the sessions of open approvals that are due at the time `at`, the longest due first. A session with several
 * such approvals occurs several times.
 */
export const approvalsDueAt = async (reads: Pick<Reads, 'rows'>, at: string): Promise<{ tenant_id: string; id: string }[]> =>
  (await reads.rows(dueApprovals, { at })).map(({ tenant_id, session_id }) => ({ tenant_id: tenant_id!, id: session_id! }));
