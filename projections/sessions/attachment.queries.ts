import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

/** A stored file in the sessions of one agent. */
export type AgentFile = { readonly agent_id: string; readonly filename: string; readonly content_type: string };

/** The maximum number of agents that are returned for one content. */
const MAX_AGENTS = 200;

/** The files with a digest in a tenant; with `agent_id`, only those of this agent. */
type Selected = { readonly tenant_id: string; readonly sha256: string; readonly agent_id?: string };

const filesByDigest = defineQuery((db, { tenant_id, sha256, agent_id }: Selected) =>
  db
    .selectFrom('sessions.attachments as attachment')
    .distinctOn('attachment.agent_id')
    .select(['attachment.agent_id', 'attachment.doc'])
    .where('attachment.tenant_id', '=', tenant_id)
    .where('attachment.sha256', '=', sha256)
    .$if(agent_id !== undefined, (query) => query.where('attachment.agent_id', '=', agent_id!))
    .orderBy('attachment.agent_id')
    .limit(({ lit }) => lit(MAX_AGENTS)),
);

/** Returns the files with this digest in the sessions of a tenant or one of its agents, one per agent. */
export const filesWithDigest = async (reads: Reads, selected: Selected): Promise<AgentFile[]> =>
  (await reads.rows(filesByDigest, selected)).map(({ agent_id, doc }) => ({
    agent_id: agent_id!,
    ...(JSON.parse(doc) as Pick<AgentFile, 'filename' | 'content_type'>),
  }));
