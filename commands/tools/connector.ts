import { z } from 'zod';
import { Refusal } from '../../domain/refusal.ts';
import * as Connector from '../../domain/tools/connector.ts';
import * as Tool from '../../domain/tools/tool.ts';
import type { Ctx, Loaded } from '../context.ts';
import { ConnectorName, ConnectorToolSync, connectorIdOf, loadTool, toolKey } from './tool.ts';

const { MAX_CONNECTOR_TOOLS } = Connector;
/** Ids of new tools that are reserved at the same time. */
const PARALLEL_RESERVATIONS = 20;

/** The body of a sync. Handlers get the list as the field `tools`. */
export const ConnectorTools = z
  .array(ConnectorToolSync)
  .max(MAX_CONNECTOR_TOOLS, `must have at most ${MAX_CONNECTOR_TOOLS} items`)
  .superRefine((tools, issues) => {
    const names = new Set<string>();
    for (const [index, { name }] of tools.entries()) {
      if (names.has(name)) issues.addIssue({ code: 'custom', path: [index, 'name'], message: 'must not occur twice in the list' });
      names.add(name);
    }
  })
  .transform((tools) => ({ tools }));

/** Reserves ids of tools that the connector did not provide before. One event of the connector makes all tools of a sync visible at once. */
const reserveIds = async (ctx: Ctx, connector: string, tools: readonly Connector.ConnectorTool[]): Promise<void> => {
  for (let from = 0; from < tools.length; from += PARALLEL_RESERVATIONS)
    await Promise.all(
      tools.slice(from, from + PARALLEL_RESERVATIONS).map(({ id, name }) =>
        ctx.transact(Tool, id, Tool.reserve(connector, name), {
          expectNew: true,
          ignoreExpectedRevision: true,
          trustCacheWhen: ({ status }) => status === 'provided',
        }),
      ),
    );
};

/** Returns the tools in the order of the list. @throws Refusal not_found if the name of the connector is not valid */
export const syncConnectorTools = async (
  ctx: Ctx,
  { connector, tools }: { connector: string } & z.output<typeof ConnectorTools>,
): Promise<Loaded<Tool.Tool[]>> => {
  if (!ConnectorName.safeParse(connector).success)
    throw new Refusal('not_found', 'The name of a connector has 1 to 64 lower-case letters, digits and hyphens');
  const provided = tools.map((tool) => ({ id: ctx.secrets.uniqueId('tool', toolKey(connector, tool.name)), ...tool }));
  const id = connectorIdOf(ctx, connector);
  const { state } = await ctx.load(Connector, id);
  await reserveIds(
    ctx,
    connector,
    provided.filter((tool) => !state.tools[tool.id]),
  );
  const synced = await ctx.transact(Connector, id, Connector.sync(connector, provided));
  const views = await Promise.all(provided.map((tool) => loadTool(ctx, tool.id)));
  return { ...synced, state: views.map((view) => view.state) };
};
