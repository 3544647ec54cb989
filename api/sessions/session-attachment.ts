import type { Context, Hono } from 'hono';
import type { CreateTypeDetector } from '../../commands/files/content-type.ts';
import { addAttachment, assertAcceptsFiles, MAX_ATTACHMENT_BYTES, storeAttachment } from '../../commands/sessions/add-attachment.ts';
import { requireWriter } from '../../commands/sessions/session-access.ts';
import { AttachmentRead } from '../../projections/sessions/session.ts';
import { authorizeRequest } from '../http/authorize-request.ts';
import { assertNoQuery, runOnce } from '../http/mount.ts';
import { streamForm } from '../http/multipart-body.ts';
import { operation } from '../http/operation.ts';
import { documentPlainRoutes, mountPlainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { UPLOAD_FIELD, type UploadDeps, uploadRoute } from '../http/upload-route.ts';

/** `createTypeDetector` creates a detector of the type of a content while it is read. */
export type AttachmentDeps = UploadDeps & { readonly createTypeDetector: CreateTypeDetector };
type Deps = AttachmentDeps & { readonly runtime: Runtime };

/**
 * The authorization, the command and the response of an upload. The route is not in a table, because its body is not
 * JSON.
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
    await requireWriter(ctx, session_id, 'starter');
    assertNoQuery(c);
    // A repeat with an Idempotency-Key must succeed even after the session has ended.
    if (c.req.header('idempotency-key') === undefined) await assertAcceptsFiles(ctx, session_id);
    return withSlot(request.info.tenant, async () => {
      const shape = { file: UPLOAD_FIELD, maxBytes: MAX_ATTACHMENT_BYTES };
      const { value } = await streamForm(parseForm, c.req.raw, shape, (file) => storeAttachment(ctx, file, createTypeDetector()));
      // A repeat of the request is recognised by the digest of the file. The bytes of the form itself differ, because
      // its boundary is different each time.
      const run = (of: typeof ctx) => addAttachment(of, session_id, value);
      return runOnce(UPLOAD, runtime, request, { bytes: new TextEncoder().encode(value.sha256), run });
    });
  };
};

const routes = [
  uploadRoute({
    row: UPLOAD,
    operationId: 'addSessionAttachment',
    description: `A file has at most ${MAX_ATTACHMENT_BYTES} bytes, and must arrive with at least 64 KiB per second, otherwise the response is 408. Its type is found by its content, and its name is only shown. The content is stored encrypted.\n\nRequires the runner key of the session's agent. Who has started the session may add files, too, with the permission \`agent:assign\` on the agent.`,
    tag: 'Sessions',
    file: 'The file',
    answer: 'The new attachment',
    handler: acceptUpload,
  }),
];

export const mountSessionAttachments = (app: Hono, runtime: Runtime, deps: AttachmentDeps): void =>
  mountPlainRoutes(app, routes, { ...deps, runtime });
export const sessionAttachmentPaths = documentPlainRoutes(routes);
