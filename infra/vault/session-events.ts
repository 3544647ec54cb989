import { contentLocation } from '../../commands/sessions/content-location.ts';
import type { Recorded } from '../../domain/event.ts';
import type { OpenedSessionEvent } from '../../domain/runners/session-message.ts';
import { category, messageIn, type SessionEvent } from '../../domain/sessions/session.ts';
import { decrypt, kidOf } from './cipher.ts';
import type { DataKeyCache } from './data-key-cache.ts';
import { ContentUnreadable, throwAsUnreadable } from './sealed-events.ts';

export const isSessionEvent = (event: Recorded): event is Recorded<SessionEvent> => event.category === category;

const openContent = (event: Recorded<SessionEvent>, key: Uint8Array, message_id: string, sealed: string): string => {
  try {
    return decrypt(key, contentLocation(event.tenant, event.id, message_id), sealed).toString();
  } catch (error) {
    throw new ContentUnreadable('damaged', event, error);
  }
};

/**
 * Returns an event of a session with the text of its message decrypted.
 * @throws ContentUnreadable
 * @throws LogError unavailable
 */
export const openSessionEvent = async (
  { dataKeyById }: Pick<DataKeyCache, 'dataKeyById'>,
  event: Recorded<SessionEvent>,
): Promise<OpenedSessionEvent> => {
  const message = messageIn(event);
  if (!message) return { ...event, content: null };
  const { message_id, sealed_content } = message;
  const key = await dataKeyById(event.tenant, kidOf(sealed_content)).catch((error: unknown) => throwAsUnreadable(event, error));
  return { ...event, content: openContent(event, key, message_id, sealed_content) };
};
