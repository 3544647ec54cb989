import { type FileSelection, MAX_AGENTS_OF_FILE } from '../file-selection.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

export type AgentFile = { readonly agent_id: string; readonly filename: string; readonly content_type: string };

const filesByDigest = defineQuery((db, { tenant_id, sha256, agent_id }: FileSelection) =>
  db
    .selectFrom('sessions.attachments as attachment')
    .distinctOn('attachment.agent_id')
    .select(['attachment.agent_id', 'attachment.doc'])
    .where('attachment.tenant_id', '=', tenant_id)
    .where('attachment.sha256', '=', sha256)
    .$if(agent_id !== undefined, (query) => query.where('attachment.agent_id', '=', agent_id!))
    .orderBy('attachment.agent_id')
    .limit(({ lit }) => lit(MAX_AGENTS_OF_FILE)),
);

/** Returns the files with this digest in the sessions of a tenant or one of its agents, one per agent. */
export const filesWithDigest = async (reads: Reads, selected: FileSelection): Promise<AgentFile[]> =>
  (await reads.rows(filesByDigest, selected)).map(({ agent_id, doc }) => ({
    agent_id: agent_id!,
    ...(JSON.parse(doc) as Pick<AgentFile, 'filename' | 'content_type'>),
  }));
