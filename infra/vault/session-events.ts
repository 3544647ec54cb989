import type { SecretLocation } from '../../commands/context.ts';
import { approvalLocation } from '../../commands/sessions/approval-text.ts';
import { contentLocation } from '../../commands/sessions/content-location.ts';
import type { Recorded } from '../../domain/event.ts';
import type { OpenedSessionEvent } from '../../domain/runners/session-message.ts';
import { category, messageIn, type SessionEvent } from '../../domain/sessions/session.ts';
import { decrypt, kidOf } from './cipher.ts';
import type { DataKeyCache } from './data-key-cache.ts';
import { ContentUnreadable, throwAsUnreadable } from './sealed-events.ts';

export const isSessionEvent = (event: Recorded): event is Recorded<SessionEvent> => event.category === category;

type SealedIn = { readonly location: SecretLocation; readonly sealed: string };

/** Returns the encrypted message or comment of an event; null if there is none. */
const sealedIn = (event: Recorded<SessionEvent>): SealedIn | null => {
  const { tenant, id } = event;
  if (event.type === 'ApprovalDecided') {
    const { message_id, sealed_comment: sealed } = event.data;
    return sealed === null ? null : { location: approvalLocation({ tenant, session_id: id, message_id }, 'comment'), sealed };
  }
  const message = messageIn(event);
  return message && { location: contentLocation(tenant, id, message.message_id), sealed: message.sealed_content };
};

const openText = (event: Recorded<SessionEvent>, key: Uint8Array, { location, sealed }: SealedIn): string => {
  try {
    return decrypt(key, location, sealed).toString();
  } catch (error) {
    throw new ContentUnreadable('damaged', event, error);
  }
};

/** The text cannot be decrypted: the runner still gets the event, and so the later ones of the session, which wait for it. */
export const withoutText = (event: Recorded<SessionEvent>): OpenedSessionEvent => ({ ...event, content: null });

/** Decrypts the message or the comment. @throws ContentUnreadable, LogError unavailable */
export const openSessionEvent = async (
  { dataKeyById }: Pick<DataKeyCache, 'dataKeyById'>,
  event: Recorded<SessionEvent>,
): Promise<OpenedSessionEvent> => {
  const found = sealedIn(event);
  if (!found) return { ...event, content: null };
  const key = await dataKeyById(event.tenant, kidOf(found.sealed)).catch((error: unknown) => throwAsUnreadable(event, error));
  return { ...event, content: openText(event, key, found) };
};
