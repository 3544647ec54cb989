import { contradictionOf } from '../../domain/files/threats.ts';
import { invalid } from '../../domain/refusal.ts';
import * as Session from '../../domain/sessions/session.ts';
import type { Ctx, Loaded } from '../context.ts';
import type { TypeDetector } from '../files/content-type.ts';
import { shownFilename } from '../files/filename.ts';
import { loadSession } from './session-access.ts';

export const MAX_ATTACHMENT_BYTES = 25 * 1024 * 1024;

/** Returns the attachment as in the response schema AttachmentRead. `digest` is written as in URL paths. */
export const attachmentView = ({ publicUrl, tenant }: Pick<Ctx, 'publicUrl' | 'tenant'>, attachment: Session.Attachment) => ({
  ...attachment,
  id: attachment.attachment_id,
  digest: attachment.sha256,
  url: `${publicUrl}/tenant/${tenant}/files/${attachment.sha256}`,
});

/** Called before the file is read. @throws Refusal not_found, conflict if the session has ended */
export const assertAcceptsFiles = async (ctx: Ctx, session_id: string): Promise<void> =>
  Session.assertOpen((await loadSession(ctx, session_id)).state, ctx.at());

/** `contentType`: as the client has sent it; `field`: the form field. */
type NewFile = {
  readonly content: AsyncIterable<Uint8Array>;
  readonly filename: string;
  readonly contentType: string | null;
  readonly field: string;
};
export type StoredFile = { readonly sha256: string; readonly size: number; readonly content_type: string; readonly filename: string };

/**
 * While the file arrives, detects its type. Stores nothing if `content` throws, or if the type is not the client's.
 * @throws Refusal unavailable if it cannot be stored, invalid if the type is wrong, and the errors of `content`
 */
export const storeAttachment = async (
  ctx: Ctx,
  { content, filename, contentType, field }: NewFile,
  detector: TypeDetector,
): Promise<StoredFile> => {
  const inspected = async function* () {
    for await (const bytes of content) {
      detector.add(bytes);
      yield bytes;
    }
    const contradiction = contradictionOf(contentType, await detector.type());
    if (contradiction) throw invalid(`/${field}`, contradiction.replace(/^It /, ''), 'type_mismatch');
  };
  const stored = await ctx.blobs.put(inspected());
  return { ...stored, content_type: await detector.type(), filename };
};

/** Identifies a repeat with the same Idempotency-Key: the bytes of the form differ each time, because its boundary is random. */
export const uploadIdentity = ({ sha256, filename }: StoredFile): Uint8Array =>
  new TextEncoder().encode(JSON.stringify([sha256, filename]));

/** @throws Refusal not_found, conflict if the session has ended */
export const addAttachment = async (
  ctx: Ctx,
  session_id: string,
  { sha256, size: size_bytes, content_type, filename }: StoredFile,
): Promise<Loaded<ReturnType<typeof attachmentView>>> => {
  const attachment = { attachment_id: ctx.newId(), filename: shownFilename(filename), content_type, size_bytes, sha256 };
  const loaded = await ctx.transact(Session, session_id, Session.addAttachment(attachment, ctx.at()));
  return { ...loaded, state: attachmentView(ctx, loaded.state.last_attachment!) };
};
