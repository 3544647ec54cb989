import { changedFields } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { type ById, type Transient, withEntry, withoutEntry } from '../immutable-record.ts';

export const category = 'connector';

/** Tools of one connector. Their descriptions must fit into one event. */
export const MAX_CONNECTOR_TOOLS = 500;

export type ConnectorTool = { id: string; name: string; display_name: string; description: string; description_long: string };

export type ConnectorEvent = {
  type: 'ConnectorToolsSynced';
  data: {
    connector: string;
    added: readonly ConnectorTool[];
    changed: readonly (Pick<ConnectorTool, 'id'> & Partial<ConnectorTool>)[];
    removed: readonly Pick<ConnectorTool, 'id' | 'name'>[];
  };
};

/** By tool id. */
export type Connector = { tools: ById<ConnectorTool & { created_at: string; updated_at: string }> };

export const initial: Connector = { tools: {} };

export const evolve = ({ tools }: Connector, { at, data }: Recorded<ConnectorEvent>, transient?: Transient): Connector => {
  const { added, changed, removed } = data;
  const withAdded = added.reduce(
    (all, tool) => withEntry(all, tool.id, { ...tool, created_at: at, updated_at: at }, transient),
    removed.reduce((all, { id }) => withoutEntry(all, id, transient), tools),
  );
  return {
    tools: changed.reduce((all, tool) => withEntry(all, tool.id, { ...all[tool.id]!, ...tool, updated_at: at }, transient), withAdded),
  };
};

/** No event if nothing differs. */
export const sync =
  (connector: string, tools: readonly ConnectorTool[]) =>
  ({ tools: present }: Connector): ConnectorEvent[] => {
    const ids = new Set(tools.map(({ id }) => id));
    const added = tools.filter(({ id }) => !present[id]);
    const changed = tools
      .filter(({ id }) => present[id])
      .map((tool) => ({ id: tool.id, ...changedFields(present[tool.id]!, tool) }))
      .filter((changes) => Object.keys(changes).length > 1);
    const removed = Object.values(present)
      .filter(({ id }) => !ids.has(id))
      .map(({ id, name }) => ({ id, name }));
    if (added.length + changed.length + removed.length === 0) return [];
    return [{ type: 'ConnectorToolsSynced', data: { connector, added, changed, removed } }];
  };
