/** Selects the files with a digest in a tenant; with `agent_id`, only those of this agent. */
export type FileSelection = { readonly tenant_id: string; readonly sha256: string; readonly agent_id?: string };

/** The maximum number of agents that are returned for one content. */
export const MAX_AGENTS_OF_FILE = 200;
