import * as Attachment from '../../domain/mail/attachment.ts';
import type { Ctx, Loaded } from '../context.ts';
import { shownFilename } from '../files/filename.ts';
import type { StoredFile } from '../sessions/add-attachment.ts';

export { MAX_ATTACHMENT_BYTES } from '../sessions/add-attachment.ts';

type MessageRef = { readonly agent_id: string; readonly message_id: string };

/** @throws Refusal not_found */
export const addMailAttachment = (
  ctx: Ctx,
  { agent_id, message_id }: MessageRef,
  { sha256, size: size_bytes, content_type, filename }: StoredFile,
): Promise<Loaded<Attachment.Attachment>> => {
  const file = { agent_id, message_id, filename: shownFilename(filename), content_type, size_bytes, sha256 };
  return ctx.transact(Attachment, ctx.newId(), Attachment.add(file), { expectNew: true });
};
