import type { Context } from 'hono';
import type { CreateTypeDetector } from '../../commands/files/content-type.ts';
import {
  addAttachment,
  assertAcceptsFiles,
  MAX_ATTACHMENT_BYTES,
  storeAttachment,
  uploadIdentity,
} from '../../commands/sessions/add-attachment.ts';
import { requireWriter } from '../../commands/sessions/session-access.ts';
import { AttachmentRead } from '../../projections/sessions/session-message.ts';
import { authorizeRequest } from '../http/authorize-request.ts';
import { assertNoQuery, runOnce } from '../http/mount.ts';
import { streamForm } from '../http/multipart-body.ts';
import { operation } from '../http/operation.ts';
import { plainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { UPLOAD_FIELD, type UploadDeps, uploadRoute } from '../http/upload-route.ts';

/** `createTypeDetector` creates a function that finds out the type of a file while the file is read. */
export type AttachmentDeps = UploadDeps & { readonly createTypeDetector: CreateTypeDetector };
type Deps = AttachmentDeps & { readonly runtime: Runtime };

/**
 * The authorization, the command and the response of an upload. The route is in no table of operations, because its
 * body is not JSON.
 */
const UPLOAD = operation({
  method: 'post',
  path: '/tenant/:tenant_id/sessions/:session_id/attachments',
  summary: 'Add a file to a session',
  permit: 'any',
  reply: AttachmentRead,
  status: 201,
  location: '/tenant/:tenant_id/files/:digest',
  run: () => null,
});

const acceptUpload = ({ runtime, withSlot, parseForm, createTypeDetector }: Deps) => {
  const authorize = authorizeRequest(UPLOAD, runtime);
  return async (c: Context): Promise<Response> => {
    const request = await authorize(c);
    const session_id = request.params.session_id!;
    const ctx = runtime.context(request.info);
    await requireWriter(ctx, session_id, 'persons');
    assertNoQuery(c);
    // A request with an Idempotency-Key can be a repeat, which must succeed even after the session has ended. So it is
    // not checked here.
    if (c.req.header('idempotency-key') === undefined) await assertAcceptsFiles(ctx, session_id);
    return withSlot(request.info.tenant, async () => {
      const shape = { file: UPLOAD_FIELD, maxBytes: MAX_ATTACHMENT_BYTES };
      const { value } = await streamForm(parseForm, c.req.raw, shape, (file) =>
        storeAttachment(ctx, { ...file, field: UPLOAD_FIELD }, createTypeDetector()),
      );
      const run = (of: typeof ctx) => addAttachment(of, session_id, value);
      return runOnce(UPLOAD, runtime, request, { bytes: uploadIdentity(value), run });
    });
  };
};

export const sessionAttachments = plainRoutes([
  uploadRoute({
    row: UPLOAD,
    operationId: 'addSessionAttachment',
    description: `A file has at most ${MAX_ATTACHMENT_BYTES} bytes, and must arrive with at least 64 KiB per second, otherwise the response is 408. Its type is found by its content; a file that claims another type, such as that of a picture for a program, is refused with 422. Its name is only shown. The content is stored encrypted.\n\nRequires the runner key of the session's agent. In a session that a person has started, users with the permission \`agent:assign\` on the agent may add files, too.`,
    tag: 'Sessions',
    file: 'The file',
    answer: 'The new attachment',
    handler: acceptUpload,
  }),
]);
