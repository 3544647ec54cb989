import { applyResets, changedFields } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { conflict, Refusal } from '../refusal.ts';

export const category = 'tool';

export type ToolFields = {
  name: string;
  display_name: string;
  description: string;
  description_long: string;
  input_schema: Readonly<Record<string, unknown>>;
};

export type ToolEvent =
  | { type: 'ToolRegistered'; data: ToolFields }
  /** Reserves the name; this stream's id becomes the tool's. The connector's stream stores the tool itself. */
  | { type: 'ToolReserved'; data: { connector: string; name: string } }
  | { type: 'ToolUpdated'; data: Partial<Omit<ToolFields, 'name'>> }
  | { type: 'ToolRemoved'; data: object };

export type Tool = ToolFields & {
  /** `provided`: a connector provides the tool or did so before. `removed`: another tool can have the name. */
  status: 'absent' | 'live' | 'provided' | 'removed';
  id: string;
  tenant_id: string;
  connector: string | null;
  created_at: string;
  updated_at: string;
};

export type ToolChanges = { [Name in keyof ToolFields]?: ToolFields[Name] | null | undefined };

/** The values that null in a change sets. */
const defaults = { description_long: '', input_schema: {} };

export const initial: Tool = {
  status: 'absent',
  id: '',
  tenant_id: '',
  connector: null,
  name: '',
  display_name: '',
  description: '',
  description_long: '',
  input_schema: {},
  created_at: '',
  updated_at: '',
};

const applyEvent = (tool: Tool, { id, tenant, at, type, data }: Recorded<ToolEvent>): Tool => {
  switch (type) {
    case 'ToolRegistered':
      return { ...tool, ...data, status: 'live', id, tenant_id: tenant, created_at: at };
    case 'ToolReserved':
      return { ...tool, ...data, status: 'provided', id, tenant_id: tenant, created_at: at };
    case 'ToolUpdated':
      return { ...tool, ...data };
    case 'ToolRemoved':
      return { ...tool, status: 'removed' };
  }
};

export const evolve = (tool: Tool, event: Recorded<ToolEvent>): Tool => ({ ...applyEvent(tool, event), updated_at: event.at });

/** @throws Refusal not_found */
export const assertExists = (tool: Tool): void => {
  if (tool.status === 'absent' || tool.status === 'removed') throw new Refusal('not_found', 'There is no such tool');
};

/** No events if the tool in this stream is removed: try the name's next generation then. @throws Refusal conflict if the name is taken */
export const register =
  (fields: ToolFields) =>
  (tool: Tool): ToolEvent[] => {
    if (tool.status === 'removed') return [];
    if (tool.status !== 'absent') throw conflict('/name', 'taken', `The tenant already has a tool ${fields.name}`);
    return [{ type: 'ToolRegistered', data: fields }];
  };

/** Reserves ids of tools for the connector that provides them. */
export const reserve =
  (connector: string, name: string) =>
  (tool: Tool): ToolEvent[] =>
    tool.status === 'absent' ? [{ type: 'ToolReserved', data: { connector, name } }] : [];

/**
 * Refuses a change of the name, which is the unique key. Only the input schema of a connector's tool can change.
 * @throws Refusal not_found if it does not exist, conflict if another field of a connector's tool would change
 */
export const update =
  (changes: ToolChanges, present: ToolFields) =>
  (tool: Tool): ToolEvent[] => {
    assertExists(tool);
    const { name, ...fields } = changedFields(present, applyResets(changes, defaults)) as Partial<ToolFields>;
    if (name !== undefined) throw conflict('/name', 'fixed', 'The name of a tool cannot be changed: register another tool instead');
    const provided = tool.status === 'provided' ? Object.keys(fields).find((field) => field !== 'input_schema') : undefined;
    if (provided)
      throw conflict(
        `/${provided}`,
        'of_connector',
        `The connector ${tool.connector} sets this field: change it there, then sync its tools`,
      );
    return Object.keys(fields).length > 0 ? [{ type: 'ToolUpdated', data: fields }] : [];
  };

/** @throws Refusal not_found if it does not exist, conflict if a connector provides it */
export const remove = (tool: Tool): ToolEvent[] => {
  assertExists(tool);
  if (tool.status === 'provided')
    throw conflict(
      '',
      'of_connector',
      `The connector ${tool.connector} provides this tool: to remove it, sync the connector's tools without it`,
    );
  return [{ type: 'ToolRemoved', data: {} }];
};
