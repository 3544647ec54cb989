import type { Context } from 'hono';
import { loadUsableSkill } from '../../commands/skills/agent-skills.ts';
import { Refusal } from '../../domain/refusal.ts';
import { fileHeaders, fileResponse, fileResponses } from '../files/file-response.ts';
import { authorizeRequest } from '../http/authorize-request.ts';
import { assertNoQuery } from '../http/mount.ts';
import { plainRoute, plainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';

const PATH = '/tenant/:tenant_id/agents/:agent_id/skills/:skill_id/package';

const getPackage = ({ runtime }: { readonly runtime: Runtime }) => {
  const authorize = authorizeRequest({ method: 'get', path: PATH, permit: { all: ['agent:read'], runner: true } }, runtime);
  return async (c: Context): Promise<Response> => {
    const { info, params } = await authorize(c);
    assertNoQuery(c);
    const ctx = runtime.context({ ...info, bypassCache: c.req.header('consistency-token') !== undefined });
    const { slug, package_digest } = await loadUsableSkill(ctx, { agent_id: params.agent_id!, skill_id: params.skill_id! });
    if (package_digest === null)
      throw new Refusal('not_found', 'The skill was not imported from an archive: the runtime has all of it, its instructions');
    return fileResponse(c, { runtime, ctx }, { digest: package_digest, filename: `${slug}.zip`, content_type: 'application/zip' });
  };
};

export const skillPackages = plainRoutes([
  plainRoute({
    method: 'get',
    path: PATH,
    operationId: 'getSkillPackage',
    summary: 'Download the archive of a skill as a runner',
    description:
      "The zip archive as it was uploaded, of a skill that the agent may use. `files` of the skill in the runtime lists what is in it, and the ETag is `package_digest`, the SHA-256 of the archive. A skill that was not imported has no archive. A `Range` of bytes is answered with 206.\n\nRequires the agent's runner key.",
    tag: 'Skills',
    parameters: fileHeaders,
    responses: fileResponses,
    problems: [401, 403, 404, 409, 422, 429, 503],
    handler: getPackage,
  }),
]);
