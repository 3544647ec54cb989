import type { Recorded } from '../event.ts';
import { type ById, type Transient, withEntry, withoutEntry } from '../immutable-record.ts';

export type GrantedTool = {
  readonly is_enabled: boolean;
  readonly configuration: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  readonly updated_at: string;
};

export type AgentToolEvent =
  | { type: 'AgentToolGranted'; data: { tool_id: string; is_enabled: boolean; configuration: GrantedTool['configuration'] } }
  | { type: 'AgentToolRevoked'; data: { tool_id: string } };

export type AgentTools = { readonly tools: ById<GrantedTool> };

export const noTools: AgentTools = { tools: {} };

export const applyToolEvent = ({ tools }: AgentTools, { type, data, at }: Recorded<AgentToolEvent>, transient?: Transient): AgentTools => {
  if (type === 'AgentToolRevoked') return { tools: withoutEntry(tools, data.tool_id, transient) };
  const { tool_id, ...grant } = data;
  const created_at = tools[tool_id]?.created_at ?? at;
  return { tools: withEntry(tools, tool_id, { ...grant, created_at, updated_at: at }, transient) };
};
