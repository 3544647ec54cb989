import { z } from 'zod';
import * as RedactionPatterns from '../../domain/redaction/redaction-patterns.ts';
import * as Session from '../../domain/sessions/session.ts';
import { withoutEnd } from '../../domain/text-end.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { redactText } from '../redaction/redaction-patterns.ts';
import { assertSendable } from './person-message.ts';
import { loadSession } from './session-access.ts';

/** How long a draft that is not set again can be read. */
export const DRAFT_SECONDS = 60;

export const SessionDraft = z
  .strictObject({
    role: z.literal('assistant').default('assistant').meta({ description: 'Who is writing: always the agent' }),
    content: z
      .string()
      .meta({ description: 'The whole text so far; empty: there is no draft any more', examples: ['The refund failed bec'] }),
  })
  .meta({ id: 'SessionDraft', examples: [{ content: 'The refund failed bec' }] });

/**
 * `after`: the agent's last message when the draft was set; a later one replaces the draft. `stopped_position`: where a person had stopped
 * the agent last; a later stop removes it.
 */
export type Draft = {
  readonly content: string;
  readonly after: string | null;
  readonly stopped_position: string | null;
  readonly updated_at: string;
};

export type DraftRef = { readonly tenant: string; readonly session_id: string };

/** Shared by all API processes. Only in memory, and can get lost. */
export type Drafts = {
  /** Call before any work is done for a draft. @throws Refusal rate_limited if the tenant sets drafts too often */
  readonly admit: (tenant: string) => void;
  /** Null removes the draft. @throws Refusal unavailable if the broker cannot be reached */
  readonly put: (ref: DraftRef, draft: Draft | null) => Promise<void>;
  readonly get: (ref: DraftRef) => Draft | null;
  /** Calls `onChange` when the draft is set, removed or expired, until the returned function is called. */
  readonly watch: (ref: DraftRef, onChange: () => void) => () => void;
};

/**
 * The end of a draft may be an incomplete match: with patterns, leaves out the last line until another follows it, or only the last word if
 * there is one line.
 */
const redactDraft = async (ctx: Ctx, content: string): Promise<string> => {
  const redacted = await redactText(ctx, '/content', content);
  const { patterns } = (await ctx.load(RedactionPatterns, ctx.tenant)).state;
  if (patterns.length === 0) return redacted;
  return withoutEnd(redacted, redacted.includes('\n') ? /[^\n]/ : /\S/);
};

/**
 * Sets what the runner is writing; redacted by the tenant's patterns, never recorded.
 * @throws Refusal not_found, invalid, conflict if the session has ended, and those of `Drafts`
 */
export const writeDraft = async (
  ctx: Ctx,
  { session_id, content }: Input<typeof SessionDraft, 'tenant_id' | 'session_id'>,
  drafts: Pick<Drafts, 'admit' | 'put'>,
): Promise<Loaded<null>> => {
  drafts.admit(ctx.tenant);
  assertSendable('/content', content);
  const { state, position } = await loadSession(ctx, session_id);
  Session.assertOpen(state, ctx.at());
  const { last_answer_id: after, stopped_position, is_stopped } = state;
  // The runner does not know of the stop yet.
  const isDropped = content === '' || is_stopped;
  const draft = isDropped ? null : { content: await redactDraft(ctx, content), after, stopped_position, updated_at: ctx.at() };
  await drafts.put({ tenant: ctx.tenant, session_id }, draft);
  return { id: session_id, state: null, revision: -1, position };
};

const expiryOf = (updated_at: string): string => new Date(Date.parse(updated_at) + DRAFT_SECONDS * 1_000).toISOString();

/** Empty if the runner is writing nothing. `position`: of the session. @throws Refusal not_found */
export const readDraft = async (ctx: Ctx, session_id: string, drafts: Pick<Drafts, 'get'>) => {
  const { state, position } = await loadSession(ctx, session_id);
  const draft = drafts.get({ tenant: ctx.tenant, session_id });
  const isKept = draft?.after === state.last_answer_id && draft.stopped_position === state.stopped_position;
  const isCurrent = isKept && Session.endedAs(state, ctx.at()) === null;
  const { content, updated_at } = isCurrent ? draft : { content: '', updated_at: null };
  const read = { session_id, role: 'assistant' as const, content, updated_at, expires_at: updated_at && expiryOf(updated_at) };
  return { read, position };
};
