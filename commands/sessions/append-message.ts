import { z } from 'zod';
import * as Model from '../../domain/agents/model.ts';
import { integer } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { microsOf, Usd, usdOf } from '../../domain/money.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { secret } from '../../domain/secret.ts';
import type { RequestFields } from '../../domain/sessions/approval.ts';
import { requestApproval } from '../../domain/sessions/decide-approval.ts';
import * as SentEvent from '../../domain/sessions/sent-event.ts';
import * as Session from '../../domain/sessions/session.ts';
import { centsOf, costByPricing, MAX_COST_MICROS } from '../../domain/sessions/usage-cost.ts';
import type { Ctx, Input, Loaded, SecretLocation } from '../context.ts';
import { redactText } from '../redaction/redaction-patterns.ts';
import { type ApprovalView, approvalView, findApproval } from './approval.ts';
import { ApprovalRequest, sealRequest } from './approval-text.ts';
import { contentLocation } from './content-location.ts';
import { personMessage } from './person-message.ts';
import { loadSession } from './session-access.ts';

const MAX_FILES = 10;
const MAX_TOKENS = 100_000_000;
const Tokens = integer(0, MAX_TOKENS).default(0);

export const MessageAppend = z
  .strictObject({
    role: z.enum(Session.MESSAGE_ROLES).meta({ description: 'Who wrote the message' }),
    kind: z.enum(Session.MESSAGE_KINDS).nullable().default(null).meta({
      description:
        '`waiting`: the agent waits for an answer, and so does the session until the next message; `approval`: it waits until a person decides',
    }),
    approval: ApprovalRequest.nullable().default(null).meta({ description: 'What a person is to decide, for the kind `approval`' }),
    content: z.string().meta({ description: 'The text', examples: ['Please review pull request 42.'] }),
    attachment_ids: z.array(idOf('attachment')).max(MAX_FILES).default([]).meta({
      description: 'Files of the message, which were added to the session before. The runner gets those of a person with the message',
    }),
    model_id: idOf('model', 'The model that wrote the message').nullable().default(null),
    prompt_tokens: Tokens.meta({ description: 'The tokens that were sent to the model', examples: [1200] }),
    completion_tokens: Tokens.meta({ description: 'The tokens that the model returned', examples: [340] }),
    cost_usd: Usd.max(usdOf(MAX_COST_MICROS), `must be at most ${usdOf(MAX_COST_MICROS)}`)
      .nullable()
      .default(null)
      .meta({ description: "The cost in US dollars; null: by the model's pricing", examples: [0.0213] }),
  })
  .meta({ id: 'MessageAppend', examples: [{ role: 'user', content: 'Please review pull request 42.' }] });

type Append = Input<typeof MessageAppend, 'tenant_id' | 'session_id'>;

/** As in the response schema TaskMessageRead, without the runner's status. */
export const messageView = (
  session_id: string,
  message: Session.Message,
  content: string | null,
  approval: ApprovalView | null = null,
) => ({
  ...message,
  id: message.message_id,
  session_id,
  content,
  approval,
  cost_cents: centsOf(message.cost_micros),
  runner_status: null as 'waiting' | 'seen' | 'given_up' | null,
});

const runnerOnly = (name: string) => invalid(`/${name}`, 'may only be set by the runner of the agent', 'runner_only');

/** Some fields may only be set by the agent's runner. @throws Refusal forbidden, invalid */
const assertFromUser = (input: Append): void => {
  if (input.role !== 'user') throw new Refusal('forbidden', `Only the agent's runner may append messages of the role ${input.role}`);
  if (input.kind !== null) throw runnerOnly('kind');
  if (input.approval !== null) throw runnerOnly('approval');
  if (input.prompt_tokens > 0) throw runnerOnly('prompt_tokens');
  if (input.completion_tokens > 0) throw runnerOnly('completion_tokens');
  if (input.cost_usd !== null) throw runnerOnly('cost_usd');
};

/** @throws Refusal invalid unless a message has an approval if, and only if, it is of that kind */
const assertApprovalOfKind = ({ role, kind, approval }: Append): void => {
  if (kind === 'approval' && approval === null) throw invalid('/approval', 'is required for the kind approval', 'required');
  if (kind !== 'approval' && approval !== null) throw invalid('/approval', 'is only allowed for the kind approval', 'unexpected');
  if (approval !== null && role !== 'assistant') throw invalid('/role', 'must be assistant for the kind approval', 'wrong_role');
};

type Decision = (session: Session.Session) => Session.SessionEvent[];

/** With `request`, the message requests an approval. */
const decisionOf = (ctx: Ctx, message: Session.NewMessage, usage: Session.Usage | null, request: RequestFields | null): Decision =>
  request === null ? Session.appendMessage(message, usage, ctx.at()) : requestApproval(message, usage, { request, at: ctx.at() });

/**
 * Null if the message reports nothing. By default, for the session's primary model, with the cost by the model's prices.
 * @throws Refusal invalid if the model is unknown or not open to the tenant
 */
const usageOf = async (ctx: Ctx, input: Append, { model_id: primary }: Session.Session): Promise<Session.Usage | null> => {
  const { prompt_tokens, completion_tokens, cost_usd } = input;
  const model_id = input.model_id ?? primary;
  const model = model_id === null ? Model.initial : (await ctx.load(Model, model_id)).state;
  if (input.model_id !== null && !Model.isOpenTo(model, ctx.tenant))
    throw invalid('/model_id', 'is not a model of this tenant', 'unknown_model');
  if (prompt_tokens + completion_tokens === 0 && cost_usd === null) return null;
  const cost_micros = cost_usd === null ? costByPricing(model.pricing, prompt_tokens, completion_tokens) : microsOf(cost_usd);
  return { model_id, prompt_tokens, completion_tokens, cost_micros };
};

/** Sends a person's message to the agent's runner. @throws Refusal not_found, forbidden, invalid, conflict if the session has ended */
const sendMessage = async (ctx: Ctx, input: Append): Promise<Loaded<ReturnType<typeof messageView>>> => {
  assertFromUser(input);
  const { session_id } = input;
  const session = await loadSession(ctx, session_id);
  await ctx.sideEffect(() => usageOf(ctx, input, session.state));
  const { message, content } = await personMessage(ctx, session_id, { ...input, pointer: '/content' });
  const loaded = await ctx.transact(Session, session_id, SentEvent.sendMessage(message, ctx.at()));
  return { ...loaded, state: { ...messageView(session_id, loaded.state.last_message!, content), runner_status: 'waiting' as const } };
};

/**
 * Redacts and encrypts a runner's text. Null in a repeat with the same Idempotency-Key: the log has the content, whatever the tenant's
 * patterns are by then.
 * @throws Refusal invalid
 */
const sealContent = async (ctx: Ctx, location: SecretLocation, content: string): Promise<string | null> => {
  const sealed: string[] = [];
  await ctx.sideEffect(async () => {
    sealed.push(await ctx.secrets.seal(location, secret(await redactText(ctx, '/content', content))));
    return null;
  });
  return sealed[0] ?? null;
};

/** The message is one of the last events of one append. */
const MAX_EVENTS_OF_MESSAGE = 3;

/** The message was appended just before a revision of its session. */
const storedContent = async (ctx: Ctx, { id, revision }: Loaded<Session.Session>, message_id: string): Promise<string> => {
  const from = Math.max(0, revision + 1 - MAX_EVENTS_OF_MESSAGE);
  for await (const event of ctx.log.history(Session, id, { from, limit: MAX_EVENTS_OF_MESSAGE })) {
    const message = Session.messageIn(event);
    if (message?.message_id === message_id) return message.sealed_content;
  }
  throw new Error(`the message ${message_id} is not in its session`);
};

/**
 * Redacts the content by the tenant's patterns, and encrypts it. A message of a person also reaches the runner.
 * @throws Refusal not_found, forbidden, invalid, conflict if the session has ended
 */
export const appendMessage = async (ctx: Ctx, input: Append): Promise<Loaded<ReturnType<typeof messageView>>> => {
  if (ctx.principal.kind !== 'runner') return sendMessage(ctx, input);
  const { session_id, role, kind, content, model_id, attachment_ids } = input;
  assertApprovalOfKind(input);
  const session = await loadSession(ctx, session_id);
  const usage = await ctx.sideEffect(() => usageOf(ctx, input, session.state));
  const message_id = ctx.newId();
  const location = contentLocation(ctx.tenant, session_id, message_id);
  const request = input.approval === null ? null : await sealRequest(ctx, session_id, message_id, input.approval);
  // Must be the last side effect: repeats of requests that were stored without it find the others by their numbers.
  const sealed = await sealContent(ctx, location, content);
  const message = { message_id, role, kind, model_id, sealed_content: sealed ?? '', attachment_ids };
  const loaded = await ctx.transact(Session, session_id, decisionOf(ctx, message, usage, request));
  const approval = input.approval === null ? null : await findApproval(ctx, loaded, message_id);
  const shown = approval && (await approvalView(ctx, approval));
  const stored = await ctx.secrets.open(location, sealed ?? (await storedContent(ctx, loaded, message_id)));
  return { ...loaded, state: messageView(session_id, loaded.state.last_message!, stored.reveal(), shown) };
};
