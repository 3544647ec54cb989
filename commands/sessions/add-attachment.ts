import * as Session from '../../domain/sessions/session.ts';
import type { Ctx, Loaded } from '../context.ts';
import type { TypeDetector } from '../files/content-type.ts';
import { shownFilename } from '../files/filename.ts';
import { loadSession } from './session-access.ts';

export const MAX_ATTACHMENT_BYTES = 25 * 1024 * 1024;

/**
 * Returns an attachment in the form of the response schema AttachmentRead. `digest` has the form that URL paths use.
 */
export const attachmentView = ({ publicUrl, tenant }: Pick<Ctx, 'publicUrl' | 'tenant'>, attachment: Session.Attachment) => ({
  ...attachment,
  id: attachment.attachment_id,
  digest: attachment.sha256,
  url: `${publicUrl}/tenant/${tenant}/files/${attachment.sha256}`,
});

/**
 * Checks that a session accepts files. Called before the file is read.
 * @throws Refusal not_found, conflict if it has ended
 */
export const assertAcceptsFiles = async (ctx: Ctx, session_id: string): Promise<void> =>
  Session.assertOpen((await loadSession(ctx, session_id)).state, ctx.at());

type NewFile = { readonly content: AsyncIterable<Uint8Array>; readonly filename: string };
export type StoredFile = { readonly sha256: string; readonly size: number; readonly content_type: string; readonly filename: string };

/**
 * Stores the content of a file while it arrives, and detects its type. Stores nothing if `content` throws.
 * @throws Refusal unavailable if it cannot be stored, and the errors of `content`
 */
export const storeAttachment = async (ctx: Ctx, { content, filename }: NewFile, detector: TypeDetector): Promise<StoredFile> => {
  const inspected = async function* () {
    for await (const bytes of content) {
      detector.add(bytes);
      yield bytes;
    }
  };
  const stored = await ctx.blobs.put(inspected());
  return { ...stored, content_type: await detector.type(), filename };
};

/** Adds a stored file to a session that has not ended. @throws Refusal not_found, conflict if the session has ended */
export const addAttachment = async (
  ctx: Ctx,
  session_id: string,
  { sha256, size: size_bytes, content_type, filename }: StoredFile,
): Promise<Loaded<ReturnType<typeof attachmentView>>> => {
  const attachment = { attachment_id: ctx.newId(), filename: shownFilename(filename), content_type, size_bytes, sha256 };
  const loaded = await ctx.transact(Session, session_id, Session.addAttachment(attachment, ctx.at()));
  return { ...loaded, state: attachmentView(ctx, loaded.state.last_attachment!) };
};
