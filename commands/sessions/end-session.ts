import { z } from 'zod';
import { text } from '../../domain/fields.ts';
import { Refusal } from '../../domain/refusal.ts';
import { secret } from '../../domain/secret.ts';
import * as SentEvent from '../../domain/sessions/sent-event.ts';
import * as Session from '../../domain/sessions/session.ts';
import type { Ctx, Input, Loaded, SecretLocation } from '../context.ts';
import { redactReported, unredacted } from '../redaction/redaction-patterns.ts';
import { screenText } from './screen-text.ts';
import { loadSession } from './session-access.ts';
import { sessionView } from './session-names.ts';

const MAX_TEXT_LENGTH = 16_384;
const EndText = text(0, MAX_TEXT_LENGTH).nullable().default(null);

export const SessionEnd = z
  .strictObject({
    summary: EndText.meta({ description: 'What the session has achieved', examples: ['The pull request was approved'] }),
    error: EndText.meta({ description: 'Why the session failed', examples: [null] }),
  })
  .meta({ id: 'SessionEnd', examples: [{ summary: 'The pull request was approved' }] });

type EndTexts = { readonly summary: string | null; readonly error: string | null };

const locationOf = ({ id, tenant_id }: Session.Session, field: keyof EndTexts): SecretLocation => ({
  tenant: tenant_id,
  category: Session.category,
  id,
  field,
});

const openText = async (ctx: Ctx, location: SecretLocation, sealed: string | null): Promise<string | null> =>
  sealed === null ? null : (await ctx.secrets.open(location, sealed)).reveal();

/** @throws Refusal not_found if the tenant was erased, unavailable */
export const openEndTexts = async (ctx: Ctx, session: Session.Session): Promise<EndTexts> => ({
  summary: await openText(ctx, locationOf(session, 'summary'), session.sealed_summary),
  error: await openText(ctx, locationOf(session, 'error'), session.sealed_error),
});

/** Screens a person's text. Only redacts a runner's text, because its session ends in any case. @throws Refusal invalid */
const endText = async (ctx: Ctx, field: keyof EndTexts, text: string): Promise<string> =>
  ctx.principal.kind === 'runner'
    ? ((await redactReported(ctx, `/${field}`, text)) ?? unredacted(field))
    : screenText(ctx, `/${field}`, text);

/** Encrypts the texts. A repeat with the same Idempotency-Key gets the stored ones. @throws Refusal invalid */
const sealTexts = (ctx: Ctx, session: Session.Session, { summary, error }: EndTexts): Promise<Session.EndFields> => {
  const seal = async (field: keyof EndTexts, text: string | null) =>
    text === null ? null : ctx.secrets.seal(locationOf(session, field), secret(await endText(ctx, field, text)));
  return ctx.sideEffect(async () => ({ sealed_summary: await seal('summary', summary), sealed_error: await seal('error', error) }));
};

/** The session has already ended with this event and these texts. */
const isRepeat = async (ctx: Ctx, session: Session.Session, type: Session.EndEvent, { summary, error }: EndTexts): Promise<boolean> => {
  if (session.status !== Session.STATUS_OF_END[type]) return false;
  const ended = await openEndTexts(ctx, session);
  return ended.summary === summary && ended.error === error;
};

/** Ends the session; leaves it unchanged if the same request has already ended it. @throws Refusal not_found, conflict */
const endOnce = async (ctx: Ctx, type: Session.EndEvent, { state }: Loaded<Session.Session>, fields: Session.EndFields) => {
  const isOfPerson = type === 'SessionCancelled' && ctx.principal.kind !== 'runner';
  try {
    return await ctx.transact(Session, state.id, isOfPerson ? SentEvent.cancel(fields, ctx.at()) : Session.end(type, fields, ctx.at()));
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'conflict') throw error;
    const current = await loadSession(ctx, state.id);
    if (await isRepeat(ctx, current.state, type, await openEndTexts(ctx, { ...state, ...fields }))) return current;
    throw error;
  }
};

/** Does nothing if ended before with the same event and texts. @throws Refusal not_found, invalid, conflict if it has ended otherwise */
export const endSession =
  (type: Session.EndEvent) =>
  async (ctx: Ctx, { session_id, summary, error }: Input<typeof SessionEnd, 'tenant_id' | 'session_id'>) => {
    const session = await loadSession(ctx, session_id);
    const fields = await sealTexts(ctx, session.state, { summary, error });
    const view = await sessionView(ctx, await endOnce(ctx, type, session, fields));
    return { ...view, state: { ...view.state, ...(await openEndTexts(ctx, { ...session.state, ...fields })) } };
  };
