import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

/** A stored file in the sessions of one agent. */
export type AgentFile = { readonly agent_id: string; readonly filename: string; readonly content_type: string };

/** The maximum number of agents that are returned for one content. */
const MAX_AGENTS = 200;

const filesByDigest = defineQuery((db, { tenant_id, sha256 }: { tenant_id: string; sha256: string }) =>
  db
    .selectFrom('sessions.attachments as attachment')
    .distinctOn('attachment.agent_id')
    .select(['attachment.agent_id', 'attachment.doc'])
    .where('attachment.tenant_id', '=', tenant_id)
    .where('attachment.sha256', '=', sha256)
    .orderBy('attachment.agent_id')
    .limit(({ lit }) => lit(MAX_AGENTS)),
);

/** Returns the files with this digest in the sessions of a tenant, one per agent. */
export const filesWithDigest = async (reads: Reads, tenant_id: string, sha256: string): Promise<AgentFile[]> =>
  (await reads.rows(filesByDigest, { tenant_id, sha256 })).map(({ agent_id, doc }) => ({
    agent_id: agent_id!,
    ...(JSON.parse(doc) as Pick<AgentFile, 'filename' | 'content_type'>),
  }));
