import { z } from 'zod';
import { ConnectorTools, syncConnectorTools } from '../../commands/tools/connector.ts';
import { loadTool, registerTool, removeTool, ToolCreate, ToolUpdate, updateTool } from '../../commands/tools/tool.ts';
import { TOOL_SORTS, toolPage } from '../../projections/tools/tool.queries.ts';
import { ToolRead, tools } from '../../projections/tools/tool.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery, listQuery, windowOf } from '../http/paging.ts';

const TOOLS = '/tenant/:tenant_id/tools';

export const toolOperations = {
  listTools: operation({
    method: 'get',
    path: TOOLS,
    summary: 'List the tools of the tenant',
    details: 'Those that the tenant has registered, and those of its connectors.',
    permit: 'tenant:read',
    query: listQuery({}, TOOL_SORTS),
    reply: z.array(ToolRead),
    projection: tools.name,
    run: (ctx, window) => toolPage(ctx.reads, ctx.tenant, windowOf(window, TOOL_SORTS)),
  }),
  registerTool: operation({
    method: 'post',
    path: TOOLS,
    summary: 'Register a tool',
    permit: 'tenant:tools:write',
    body: ToolCreate,
    reply: ToolRead,
    status: 201,
    location: `${TOOLS}/:id`,
    run: registerTool,
  }),
  getTool: operation({
    method: 'get',
    path: `${TOOLS}/:tool_id`,
    summary: 'Read a tool',
    permit: 'tenant:read',
    query: asOfQuery,
    reply: ToolRead,
    noConditionalGet: true,
    run: (ctx, { tool_id }) => loadTool(ctx, tool_id),
  }),
  updateTool: operation({
    method: 'patch',
    path: `${TOOLS}/:tool_id`,
    summary: 'Update a tool',
    details: "Absent fields stay unchanged; null clears or resets a field. Only `input_schema` of a connector's tool can be changed.",
    permit: 'tenant:tools:write',
    body: ToolUpdate,
    reply: ToolRead,
    run: updateTool,
  }),
  removeTool: operation({
    method: 'delete',
    path: `${TOOLS}/:tool_id`,
    summary: 'Remove a tool',
    details: "Agents lose it. A connector's tool is removed by leaving it out of the connector's tools.",
    permit: 'tenant:tools:write',
    run: removeTool,
  }),
  syncConnectorTools: operation({
    method: 'put',
    path: '/tenant/:tenant_id/connectors/:connector/tools',
    summary: 'Replace the tools of a connector',
    details: 'Tools that are not in the list are removed. A tool that comes back has its former id.',
    permit: 'tenant:tools:write',
    body: ConnectorTools,
    reply: z.array(ToolRead),
    run: syncConnectorTools,
  }),
};
