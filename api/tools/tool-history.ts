import { connectorIdOf } from '../../commands/tools/tool.ts';
import { comparePositions, type Recorded } from '../../domain/event.ts';
import * as Connector from '../../domain/tools/connector.ts';
import * as Tool from '../../domain/tools/tool.ts';
import { ToolRead } from '../../projections/tools/tool.ts';
import type { Ctx } from '../http/operation.ts';
import { type HistorySubject, historyOperationsOf } from '../http/resource-history.ts';

type Event = Tool.ToolEvent | Connector.ConnectorEvent;

type ConnectorTool = Connector.Connector['tools'][string];

/**
 * A tool, with the latest description by its connector. `isProvided` is false if the connector no longer provides the
 * tool.
 */
type ProvidedTool = { readonly tool: Tool.Tool; readonly provided: ConnectorTool | null; readonly isProvided: boolean };

const isOfConnector = (event: Recorded<Event>): event is Recorded<Connector.ConnectorEvent> => event.category === Connector.category;

/**
 * Returns a sync event of a connector with nothing but this tool in it; null if the event does not contain the tool.
 */
const syncOfTool = (event: Recorded<Connector.ConnectorEvent>, tool_id: string): Recorded<Connector.ConnectorEvent> | null => {
  const only = <T extends { readonly id: string }>(tools: readonly T[]): T[] => tools.filter(({ id }) => id === tool_id);
  const { connector, added, changed, removed } = event.data;
  const data = { connector, added: only(added), changed: only(changed), removed: only(removed) };
  return data.added.length + data.changed.length + data.removed.length === 0 ? null : { ...event, data };
};

const evolve = ({ tool, ...known }: ProvidedTool, event: Recorded<Event>): ProvidedTool => {
  if (!isOfConnector(event)) return { ...known, tool: Tool.evolve(tool, event) };
  const [provided] = Object.values(Connector.evolve({ tools: known.provided ? { [known.provided.id]: known.provided } : {} }, event).tools);
  return { tool, provided: provided ?? known.provided, isProvided: provided !== undefined };
};

/** Returns the events of the tool and those events of its connector that contain the tool, ordered by position. */
const eventsOf = async (ctx: Ctx, id: string): Promise<Recorded<Event>[]> => {
  const events: Recorded<Event>[] = await Array.fromAsync(ctx.log.history(Tool, id));
  const { connector } = (await ctx.load(Tool, id)).state;
  if (connector === null) return events;
  for await (const event of ctx.log.history(Connector, connectorIdOf(ctx, connector))) {
    const sync = syncOfTool(event, id);
    if (sync) events.push(sync);
  }
  return events.toSorted((a, b) => comparePositions(a.position, b.position));
};

const fieldsOf = ({ tool, provided, isProvided }: ProvidedTool) => ({
  ...ToolRead.parse({ ...tool, ...provided, updated_at: tool.updated_at }),
  deleted: tool.connector === null ? tool.status === 'removed' : !isProvided,
});

/**
 * The data that the history of a tool shows. If a connector provides the tool, the connector's syncs change the tool,
 * too.
 */
export const toolHistory = {
  aggregate: { category: Tool.category, initial: { tool: Tool.initial, provided: null, isProvided: false }, evolve },
  eventsOf,
  path: '/tenant/:tenant_id/tools/:tool_id',
  permit: 'tenant:read',
  noun: 'tool',
  fieldsOf,
} as const satisfies HistorySubject<ProvidedTool, Event>;

export const toolHistoryOperations = historyOperationsOf('Tool', toolHistory);
