import type { Rows } from '../../areas.ts';
import { badge } from '../../console/parts/badge.ts';
import { icon } from '../../console/parts/icon.ts';
import { tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import type { MayOnAgent } from '../../console/permission.ts';
import type { Visit } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { isOpen } from './chat-forms.ts';

const { div, li, pre, span, strong } = tags;

export type Draft = ReplyOf<Rows['getSessionDraft']>;

/** Whether the visitor gets what the agent is writing: in the present, and as a member who may read the chat. */
export const mayReadDraft = (visit: Visit, session: Answer<ReplyOf<Rows['getSession']>>, onAgent: MayOnAgent): boolean =>
  session.ok && isOpen(session.value) && visit.asOf === null && visit.tenant !== null && onAgent('agent:chat:read');

/** Renders what the agent is writing. Screen readers read only the message that follows. */
export const draftView = ({ content, updated_at }: Draft) =>
  li(
    { class: 'message assistant', 'data-kind': 'draft', id: 'draft', 'aria-live': 'off' },
    div(
      { class: 'message-head' },
      span({ class: 'dot' }, icon('bot')),
      strong(null, 'Agent'),
      badge('running', 'is writing'),
      updated_at && span({ class: 'quiet' }, ago(updated_at)),
    ),
    pre({ class: 'message-text' }, content),
  );
