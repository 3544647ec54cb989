import { z } from 'zod';
import { DRAFT_SECONDS, type Drafts, readDraft, SessionDraft, writeDraft } from '../../commands/sessions/draft.ts';
import { requireReader, requireWriter } from '../../commands/sessions/session-access.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { operation } from '../http/operation.ts';

const DRAFT = '/tenant/:tenant_id/sessions/:session_id/draft';

export const SessionDraftRead = z
  .object({
    session_id: idOf('session'),
    role: z.literal('assistant').meta({ description: 'Who is writing: always the agent' }),
    content: z
      .string()
      .meta({ description: 'The text so far, after redaction; empty: it is writing nothing', examples: ['The refund failed bec'] }),
    updated_at: Timestamp.nullable().meta({ description: 'When the runner has sent it; null if it is writing nothing' }),
    expires_at: Timestamp.nullable().meta({
      description: 'When it disappears if the runner does not send it again; null if it is writing nothing',
    }),
  })
  .meta({ id: 'SessionDraftRead' });

/** Creates the operations about the text that a runner is writing. */
export const draftOperations = (drafts: Drafts) => ({
  setSessionDraft: operation({
    method: 'put',
    path: DRAFT,
    summary: 'Show what the agent is writing',
    details: `The text is shown in the session until the next message of the role \`assistant\` replaces it, a person stops the agent, the session ends, or an empty text removes it; at most for ${DRAFT_SECONDS} seconds. It is redacted with the patterns of the tenant, never recorded, and can get lost. If the tenant has redaction patterns, its last line is left out (of a text of one line, its last word), because a match can still be incomplete. Without the message broker, the answer is 503.`,
    permit: 'any',
    permissionNote: "Requires the runner key of the session's agent.",
    preauthorize: (ctx, { session_id }) => requireWriter(ctx, session_id!, 'runner'),
    body: SessionDraft,
    status: 204,
    noETag: true,
    run: (ctx, input) => writeDraft(ctx, input, drafts),
  }),
  getSessionDraft: operation({
    method: 'get',
    path: DRAFT,
    summary: 'Read what the agent is writing',
    details: 'If the agent is writing nothing, the text is empty.',
    permit: { all: ['tenant:read'], runner: 'in tenant' },
    permissionNote: "Requires the permission `agent:chat:read` on the session's agent, or that agent's runner key.",
    reply: SessionDraftRead,
    noETag: true,
    run: async (ctx, { session_id }) => {
      await requireReader(ctx, session_id);
      const { read, position } = await readDraft(ctx, session_id, drafts);
      return { body: JSON.stringify(read), next: null, position };
    },
  }),
});
