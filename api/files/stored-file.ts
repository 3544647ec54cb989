import type { Context } from 'hono';
import { benchmarkRuns } from '../../projections/benchmarks/benchmark-run.ts';
import { messages } from '../../projections/mail/message.ts';
import { listings } from '../../projections/marketplace/listing.ts';
import { memoryImports } from '../../projections/memory/memory-import.ts';
import { sessions } from '../../projections/sessions/session.ts';
import { skills } from '../../projections/skills/skill.ts';
import { authorizeRequest } from '../http/authorize-request.ts';
import { assertNoQuery } from '../http/mount.ts';
import { plainRoute, plainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { fileHeaders, fileResponse, fileResponses } from './file-response.ts';
import { findReadable } from './readable-file.ts';

const PATH = '/tenant/:tenant_id/files/:digest';

const getFile = ({ runtime }: { readonly runtime: Runtime }) => {
  const authorize = authorizeRequest({ method: 'get', path: PATH, permit: { all: ['tenant:read'], runner: 'in tenant' } }, runtime);
  return async (c: Context): Promise<Response> => {
    const { info, params } = await authorize(c);
    assertNoQuery(c);
    await runtime.readYourWrites.waitForOwnWrites(
      info.principal,
      [sessions.name, benchmarkRuns.name, messages.name, memoryImports.name, skills.name, listings.name],
      c.req.header('consistency-token'),
    );
    const ctx = runtime.context(info);
    const digest = params.digest!;
    return fileResponse(c, { runtime, ctx }, { ...(await findReadable(ctx, digest)), digest });
  };
};

export const storedFiles = plainRoutes([
  plainRoute({
    method: 'get',
    path: PATH,
    operationId: 'getFile',
    summary: 'Download a file',
    description:
      'The digest is the SHA-256 of the file. Its type was found by its content, and browsers save it instead of displaying it. A response shorter than its `Content-Length` is incomplete. A `Range` of bytes is answered with 206.\n\nRequires the runner key of an agent with a session or a message that has the file, or with a skill whose archive it is; or the permission `agent:chat:read` on an agent with a session, a message or a benchmark run that has the file. For a file of a memory, `agent:read`; for a picture of the tenant, the archive of a skill that the caller may see, or the bundle of a listing of the tenant, `tenant:read`.',
    tag: 'Files',
    parameters: fileHeaders,
    responses: fileResponses,
    problems: [401, 403, 404, 409, 422, 429, 503],
    handler: getFile,
  }),
]);
