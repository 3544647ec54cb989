import type { Context } from 'hono';
import type { CreateTypeDetector } from '../../commands/files/content-type.ts';
import { addMailAttachment, MAX_ATTACHMENT_BYTES } from '../../commands/mail/add-attachment.ts';
import { assertMessage } from '../../commands/mail/message.ts';
import { storeAttachment, uploadIdentity } from '../../commands/sessions/add-attachment.ts';
import { notFound } from '../../domain/refusal.ts';
import { attachmentsWithIds } from '../../projections/mail/message.queries.ts';
import { AgentAttachmentRow, messages } from '../../projections/mail/message.ts';
import { fileHeaders, fileResponse, fileResponses } from '../files/file-response.ts';
import { authorizeRequest } from '../http/authorize-request.ts';
import { assertNoQuery, runOnce } from '../http/mount.ts';
import { streamForm } from '../http/multipart-body.ts';
import { operation } from '../http/operation.ts';
import { plainRoute, plainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { type UploadDeps, uploadRoute } from '../http/upload-route.ts';

/** `createTypeDetector` creates a function that finds out the type of a file while the file is read. */
export type MailAttachmentDeps = UploadDeps & { readonly createTypeDetector: CreateTypeDetector };
type Deps = MailAttachmentDeps & { readonly runtime: Runtime };

const FIELD = 'file';
const ATTACHMENT = '/tenant/:tenant_id/agents/:agent_id/attachments/:id';

/**
 * The authorization, the command and the response of an upload. The route is in no table of operations, because its
 * body is not JSON.
 */
const UPLOAD = operation({
  method: 'post',
  path: '/tenant/:tenant_id/agents/:agent_id/messages/:message_id/attachments',
  summary: 'Add a file to a message',
  permit: { all: ['agent:assign'], runner: true },
  reply: AgentAttachmentRow,
  status: 201,
  location: ATTACHMENT,
  run: () => null,
});

const acceptUpload = ({ runtime, withSlot, parseForm, createTypeDetector }: Deps) => {
  const authorize = authorizeRequest(UPLOAD, runtime);
  return async (c: Context): Promise<Response> => {
    const request = await authorize(c);
    const { agent_id, message_id } = request.params as { agent_id: string; message_id: string };
    const ctx = runtime.context(request.info);
    assertNoQuery(c);
    await assertMessage(ctx, agent_id, message_id);
    return withSlot(request.info.tenant, async () => {
      const shape = { file: FIELD, maxBytes: MAX_ATTACHMENT_BYTES };
      const { value } = await streamForm(parseForm, c.req.raw, shape, (file) =>
        storeAttachment(ctx, { ...file, field: FIELD }, createTypeDetector()),
      );
      const run = (of: typeof ctx) => addMailAttachment(of, { agent_id, message_id }, value);
      return runOnce(UPLOAD, runtime, request, { bytes: uploadIdentity(value), run });
    });
  };
};

const getAttachment = ({ runtime }: Deps) => {
  const authorize = authorizeRequest({ method: 'get', path: ATTACHMENT, permit: { all: ['agent:chat:read'], runner: true } }, runtime);
  return async (c: Context): Promise<Response> => {
    const { info, params } = await authorize(c);
    assertNoQuery(c);
    await runtime.readYourWrites.waitForOwnWrites(info.principal, [messages.name], c.req.header('consistency-token'));
    const ctx = runtime.context(info);
    const owner = { tenant_id: info.tenant, agent_id: params.agent_id! };
    const [found] = await attachmentsWithIds(ctx.reads, owner, [params.id!]);
    if (!found) throw notFound();
    return fileResponse(c, { runtime, ctx }, { ...found, digest: found.sha256 });
  };
};

export const mailAttachments = plainRoutes([
  uploadRoute({
    row: UPLOAD,
    operationId: 'addMailAttachment',
    field: FIELD,
    description: `A message that is sent later can have the file: see \`attachment_ids\`. A file has at most ${MAX_ATTACHMENT_BYTES} bytes, and must arrive with at least 64 KiB per second, otherwise the response is 408. Its type is found by its content; a file that claims another type, such as that of a picture for a program, is refused with 422. Its name is only shown. The content is stored encrypted.\n\nRequires the permission \`agent:assign\`, or the runner key of the agent.`,
    tag: 'Mail',
    file: 'The file',
    answer: 'The new attachment',
    handler: acceptUpload,
  }),
  plainRoute({
    method: 'get',
    path: ATTACHMENT,
    operationId: 'getMailAttachment',
    summary: 'Download an attachment of a message',
    description:
      'Its type is the one that the sender has declared, unless its content is of another type; browsers save it instead of displaying it. A response shorter than its `Content-Length` is incomplete. A `Range` of bytes is answered with 206.\n\nRequires the permission `agent:chat:read`, or the runner key of the agent.',
    tag: 'Mail',
    parameters: fileHeaders,
    responses: fileResponses,
    problems: [401, 403, 404, 409, 422, 429, 503],
    handler: getAttachment,
  }),
]);
