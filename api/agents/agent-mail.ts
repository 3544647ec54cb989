import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { listQuery, type PageWindow, paginate } from '../http/paging.ts';

const AGENT = '/tenant/:tenant_id/agents/:agent_id';

const AgentAttachmentRow = z
  .object({
    id: idOf('attachment'),
    message_id: idOf('message', 'The message to which the file is attached'),
    filename: z.string().meta({ description: 'The name of the file', examples: ['report.pdf'] }),
    content_type: z.string().meta({ description: 'The media type of the file', examples: ['application/pdf'] }),
    size_bytes: z.int().meta({ description: 'The size of the file in bytes', examples: [48211] }),
    created_at: Timestamp,
  })
  .meta({ id: 'AgentAttachmentRow' });

type Item = { readonly id: string; readonly created_at: string };

/** Returns a page of what belongs to the mail of an agent. @throws Refusal not_found, invalid */
const listOf =
  (itemsOf: () => readonly Item[]) =>
  async (ctx: Ctx, { agent_id, ...window }: PageWindow & { agent_id: string }) => {
    const { position } = await loadAgent(ctx, agent_id);
    const { items, next } = paginate(itemsOf(), window);
    return { body: JSON.stringify(items), next, position };
  };

/** No agent has mail before the platform exchanges mail: see the field `external_mail_enabled`. */
const NO_ITEMS = (): readonly Item[] => [];

export const agentMailOperations = {
  listAgentAttachments: operation({
    method: 'get',
    path: `${AGENT}/attachments`,
    summary: 'List the mail attachments of an agent',
    details: 'The platform does not exchange mail yet, so the list is empty.',
    permit: 'agent:read',
    query: listQuery({}),
    reply: z.array(AgentAttachmentRow),
    run: listOf(NO_ITEMS),
  }),
};
