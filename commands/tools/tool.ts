import { z } from 'zod';
import { comparePositions } from '../../domain/event.ts';
import { displayText, Slug, text } from '../../domain/fields.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Connector from '../../domain/tools/connector.ts';
import * as Tool from '../../domain/tools/tool.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { createUnique } from '../create-unique.ts';
import { assertJsonSchema, JsonObjectField } from '../json-schema-validator.ts';

const MAX_DESCRIPTION = 1_024;
const MAX_LONG_DESCRIPTION = 16_384;

const texts = {
  name: displayText(1, 128).meta({
    description: 'The unique name by which agents call the tool; it cannot be changed',
    examples: ['send_message'],
  }),
  display_name: displayText(1, 128).meta({ description: 'The name that people see', examples: ['Send a message'] }),
  description: text(0, MAX_DESCRIPTION).meta({ description: 'What the tool does, in short', examples: ['Sends a message to a channel'] }),
  description_long: text(0, MAX_LONG_DESCRIPTION).meta({
    description: 'What the tool does, in full',
    examples: ['Sends a message to a channel. The channel must exist.'],
  }),
};

const InputSchema = JsonObjectField.meta({
  description: "The JSON Schema (draft 2020-12 or 7) of the tool's configuration; an empty one accepts everything",
  examples: [{ type: 'object', properties: { channel: { type: 'string' } } }],
});

export const ToolCreate = z
  .strictObject({ ...texts, description_long: texts.description_long.default(''), input_schema: InputSchema.default({}) })
  .meta({ id: 'ToolCreate' });

export const ToolUpdate = z
  .strictObject({
    name: texts.name.nullish().meta({ description: 'The name of the tool; another name is refused', examples: ['send_message'] }),
    display_name: texts.display_name.nullish().meta(texts.display_name.meta()!),
    description: texts.description.nullish().meta(texts.description.meta()!),
    description_long: texts.description_long.nullish().meta(texts.description_long.meta()!),
    input_schema: InputSchema.nullish().meta(InputSchema.meta()!),
  })
  .meta({ id: 'ToolUpdate', examples: [{ display_name: 'Send a message' }] });

export const ConnectorToolSync = z.strictObject(texts).meta({ id: 'ConnectorToolSync' });

export const ConnectorName = Slug;

/** The stream with this id contains the tools that the connector provides. */
export const connectorIdOf = (ctx: Ctx, connector: string): string => ctx.secrets.uniqueId('connector', connector);

/** The name of a connector is never empty, so no two tools have the same key. */
export const toolKey = (connector: string | null, name: string): string => `${connector ?? ''}\0${name}`;

const laterOf = (a: Loaded<unknown>, b: Loaded<unknown>): Loaded<unknown>['position'] =>
  b.position !== null && (a.position === null || comparePositions(b.position, a.position) > 0) ? b.position : a.position;

/**
 * Adds the fields that its connector describes, if any. The revision is that of the tool's own stream.
 * @throws Refusal not_found, also if the connector no longer provides it
 */
export const withConnector = async (ctx: Ctx, tool: Loaded<Tool.Tool>): Promise<Loaded<Tool.Tool>> => {
  Tool.assertExists(tool.state);
  if (tool.state.connector === null) return tool;
  const connector = await ctx.load(Connector, connectorIdOf(ctx, tool.state.connector));
  const provided = connector.state.tools[tool.id];
  if (!provided) throw new Refusal('not_found', 'There is no such tool');
  const updated_at = provided.updated_at > tool.state.updated_at ? provided.updated_at : tool.state.updated_at;
  return { ...tool, position: laterOf(tool, connector), state: { ...tool.state, ...provided, updated_at } };
};

/** @throws Refusal not_found */
export const loadTool = async (ctx: Ctx, tool_id: string): Promise<Loaded<Tool.Tool>> => withConnector(ctx, await ctx.load(Tool, tool_id));

export const loadTools = async (ctx: Ctx, ids: readonly string[]): Promise<Loaded<Tool.Tool>[]> => {
  const found = await Promise.all(
    ids.map((id) =>
      loadTool(ctx, id).catch((error: unknown) => {
        if (error instanceof Refusal && error.code === 'not_found') return null;
        throw error;
      }),
    ),
  );
  return found.filter((tool) => tool !== null);
};

/** @throws Refusal conflict if the name is taken, invalid if the schema is not usable */
export const registerTool = (ctx: Ctx, { tenant_id: _, ...fields }: Input<typeof ToolCreate, 'tenant_id'>) => {
  assertJsonSchema(ctx.checks, '/input_schema', fields.input_schema);
  return createUnique(ctx, Tool, {
    kind: 'tool',
    key: toolKey(null, fields.name),
    claim: () => Tool.register(fields),
    isClosed: ({ status }) => status === 'removed',
  });
};

/** @throws Refusal not_found, conflict, invalid */
export const updateTool = async (ctx: Ctx, input: Input<typeof ToolUpdate, 'tenant_id' | 'tool_id'>) => {
  const { tenant_id: _, tool_id, ...changes } = input;
  const { state } = await loadTool(ctx, tool_id);
  assertJsonSchema(ctx.checks, '/input_schema', changes.input_schema);
  // The tool's own stream lacks the fields that a connector describes.
  const decide = (tool: Tool.Tool) =>
    Tool.update(changes, tool.status === 'provided' ? { ...state, input_schema: tool.input_schema } : tool)(tool);
  return withConnector(ctx, await ctx.transact(Tool, tool_id, decide));
};

/** Another tool can then have its name. @throws Refusal not_found, conflict if a connector provides it */
export const removeTool = async (ctx: Ctx, { tool_id }: { tool_id: string }) => {
  await loadTool(ctx, tool_id);
  return ctx.transact(Tool, tool_id, Tool.remove);
};
