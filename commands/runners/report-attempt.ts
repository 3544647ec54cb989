import { z } from 'zod';
import * as Delivery from '../../domain/deliveries/delivery.ts';
import type { Position } from '../../domain/event.ts';
import { integer } from '../../domain/fields.ts';
import { invalid, notFound, Refusal } from '../../domain/refusal.ts';
import * as AttemptReport from '../../domain/runners/attempt-report.ts';
import { packTexts, problemKey, type ReportTexts, type SealedTexts, unpackTexts } from '../../domain/runners/report-texts.ts';
import { MAX_DELIVERY_ATTEMPTS } from '../../domain/runners/runner-credential.ts';
import { secret } from '../../domain/secret.ts';
import type { Ctx, Input, Loaded, SecretLocation, UsesSecrets } from '../context.ts';
import { redactReported, unredacted } from '../redaction/redaction-patterns.ts';

const MAX_REASON_LENGTH = 2_000;
const MAX_STDERR_LENGTH = 4_000;
const MAX_SECONDS = 31 * 24 * 3_600;

const Code = z.string().regex(/^[\w.-]{1,64}$/, 'must have 1 to 64 letters, digits, `_`, `.` or `-`');

export const AttemptReportCreate = z
  .strictObject({
    attempt: integer(1, MAX_DELIVERY_ATTEMPTS).meta({
      description: 'Which attempt of the message it was, beginning with 1',
      examples: [1],
    }),
    outcome: z.enum(AttemptReport.ATTEMPT_OUTCOMES).meta({
      description:
        '`failed`: the handler reported an error; `timed_out`: it exceeded its time limit; `crashed`: it was killed, or cannot be reached; `released`: the runner gives the event back, to process it later',
    }),
    code: Code.nullable()
      .default(null)
      .meta({ description: 'An exit code, a signal, an HTTP status or the code of an error, as a text', examples: ['SIGKILL'] }),
    reason: z
      .string()
      .min(1)
      .max(MAX_REASON_LENGTH)
      .meta({ description: 'Why it failed', examples: ['the command was ended by SIGKILL'] }),
    stderr_tail: z
      .string()
      .max(MAX_STDERR_LENGTH)
      .nullable()
      .default(null)
      .meta({
        description:
          'The end of what the handler wrote to standard error, or the start of what it answered. Of a long text, only the end is stored. Of attempts of a message with the same reason whose texts differ only in times, ids of processes and long ids, the text is stored once',
        examples: ['Error: the model does not answer\n'],
      }),
    seconds: z
      .number()
      .min(0)
      .max(MAX_SECONDS)
      .meta({ description: 'How long the attempt took', examples: [1.25] }),
    message_id: z
      .uuid()
      .nullable()
      .default(null)
      .meta({
        description: 'The id of the message (`id` of the event, ANNALS_EVENT_ID); null: the last message of the delivery',
        examples: ['6f9619ff-8b86-4d01-b42d-00cf4fc964ff'],
      }),
  })
  .meta({
    id: 'AttemptReportCreate',
    examples: [
      { attempt: 1, outcome: 'crashed', code: 'SIGKILL', reason: 'the command was ended by SIGKILL', stderr_tail: null, seconds: 1.25 },
    ],
  });

const PROBLEM_LENGTH = 16;

/** `seal` encrypts the texts for this attempt. `problem`: a keyed digest of what equal failures have in common. */
export type NewReport = {
  readonly agent_id: string;
  readonly report: AttemptReport.AttemptReport;
  readonly texts: ReportTexts;
  readonly problem: string;
  readonly seal: () => Promise<string>;
};

/**
 * Records the report with others that arrive at about the same time. Resolves with the position when it is in the log; null if recorded
 * before.
 * @throws Refusal unavailable
 */
export type RecordAttempt = (tenant: string, report: NewReport) => Promise<Position | null>;

type AttemptRef = Pick<SealedTexts, 'message_id' | 'attempt'>;

const textsLocation = (tenant: string, delivery_id: string, { message_id, attempt }: AttemptRef): SecretLocation => ({
  tenant,
  category: AttemptReport.category,
  id: delivery_id,
  field: `${message_id ?? ''}/${attempt}`,
});

/** The function returns null if the texts are damaged or their key cannot be read. */
export const reportOpener =
  (ctx: Pick<Ctx, 'tenant'> & UsesSecrets<'open'>) =>
  async (delivery_id: string, { sealed, ...attempt }: SealedTexts): Promise<ReportTexts | null> => {
    try {
      return unpackTexts((await ctx.secrets.open(textsLocation(ctx.tenant, delivery_id, attempt), sealed)).reveal());
    } catch {
      return null;
    }
  };

/** `id`: of its event; null for the first event of the delivery. */
type Message = { readonly id: string | null; readonly agent_id: string };

const findMessage = async (ctx: Ctx, delivery_id: string, event_id: string): Promise<Message | null> => {
  for await (const event of ctx.log.history(Delivery, delivery_id)) {
    if (Delivery.isAccepted(event.type) && event.event_id === event_id) return { id: null, agent_id: Delivery.factsOf(event).agent_id };
    if (event.type !== 'DeliveryRequeued' && event.type !== 'DeliveryReleased') continue;
    const { agent_id } = event.data;
    const repeats = event.type === 'DeliveryRequeued' ? event.data.repeats : undefined;
    if (event.event_id === event_id || repeats === event_id) return { id: event.event_id, agent_id };
  }
  return null;
};

const lastMessage = ({ message_id, agent_id, requeued_at, released }: Delivery.Delivery): Message | null => {
  if (message_id === null || agent_id === null) return null;
  return { id: requeued_at === null && released === null ? null : message_id, agent_id };
};

/** The message about which the caller reports. */
const messageOf = async (ctx: Ctx, delivery_id: string, event_id: string | null): Promise<Message | null> => {
  const { state } = await ctx.load(Delivery, delivery_id);
  const isLast = event_id === null || event_id === state.message_id || event_id === state.cloud_event_id;
  return isLast ? lastMessage(state) : findMessage(ctx, delivery_id, event_id);
};

/** Refuses runners of agents to which the delivery was not sent, as if it did not exist. @throws Refusal not_found, forbidden */
export const requireOwnRunner = async (ctx: Ctx, delivery_id: string): Promise<void> => {
  const { principal } = ctx;
  const { state } = await ctx.load(Delivery, delivery_id);
  if (principal.kind !== 'runner') {
    if (state.facts === null) throw notFound();
    await ctx.require('agent:read', state.facts.agent_id);
    throw new Refusal('forbidden', "This needs the runner key of the delivery's agent");
  }
  const isOwn = async (): Promise<boolean> => {
    const first = state.released ? null : state.facts?.agent_id;
    if ([state.agent_id, first].includes(principal.agent_id)) return state.status === 'accepted';
    for await (const { type, data } of ctx.log.history(Delivery, delivery_id))
      if ((type === 'DeliveryRequeued' || type === 'DeliveryReleased') && data.agent_id === principal.agent_id) return true;
    return false;
  };
  if (principal.tenant_id === ctx.tenant && (await isOwn())) return;
  throw notFound();
};

/**
 * Redacts the texts by the tenant's patterns, and encrypts them. Reporting the attempt again changes nothing. @throws Refusal invalid,
 * unavailable
 */
export const reportAttempt = async (
  ctx: Ctx,
  { delivery_id, ...input }: Input<typeof AttemptReportCreate, 'tenant_id' | 'delivery_id'>,
  record: RecordAttempt,
): Promise<Loaded<null>> => {
  const { principal } = ctx;
  const message = await messageOf(ctx, delivery_id, input.message_id);
  if (principal.kind !== 'runner' || message?.agent_id !== principal.agent_id)
    throw invalid('/message_id', 'is not the id of a message of this delivery to your agent', 'unknown_message');
  const { attempt, outcome, code } = input;
  const texts = {
    reason: (await redactReported(ctx, '/reason', input.reason)) ?? unredacted('reason'),
    stderr_tail: input.stderr_tail === null ? null : await redactReported(ctx, '/stderr_tail', input.stderr_tail),
  };
  const location = textsLocation(ctx.tenant, delivery_id, { message_id: message.id, attempt });
  const report: AttemptReport.AttemptReport = {
    delivery_id,
    ...(message.id !== null && { message_id: message.id }),
    attempt,
    ...(outcome !== 'failed' && { outcome }),
    ...(code !== null && { code }),
    seconds: Math.round(input.seconds * 100) / 100,
  };
  const position = await record(ctx.tenant, {
    agent_id: principal.agent_id,
    report,
    texts,
    problem: ctx.secrets.digest(`problem ${ctx.tenant} ${problemKey(code, texts.reason)}`).slice(0, PROBLEM_LENGTH),
    seal: () => ctx.secrets.seal(location, secret(packTexts(texts))),
  });
  return { id: delivery_id, state: null, revision: -1, position };
};
