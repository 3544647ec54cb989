import type { Context } from 'hono';
import { type ImportPorts, importSkill, readSkillArchive } from '../../commands/skills/import-skill.ts';
import { MAX_ARCHIVE_BYTES } from '../../domain/skills/archive-rules.ts';
import { SkillRead } from '../../projections/skills/skill.ts';
import { authorizeRequest } from '../http/authorize-request.ts';
import { assertNoQuery, runOnce } from '../http/mount.ts';
import { readForm } from '../http/multipart-body.ts';
import { operation } from '../http/operation.ts';
import { plainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { UPLOAD_FIELD, type UploadDeps, uploadRoute } from '../http/upload-route.ts';

type Deps = ImportPorts & UploadDeps & { readonly runtime: Runtime };

/**
 * The authorization, the command and the response of an import. The route is in no table of operations, because its
 * body is not JSON.
 */
const IMPORT = operation({
  method: 'post',
  path: '/tenant/:tenant_id/skills/import',
  summary: 'Import a skill from a zip archive',
  permit: 'tenant:skills:write',
  reply: SkillRead,
  status: 201,
  location: '/tenant/:tenant_id/skills/:id',
  run: () => null,
});

const importRoute = ({ runtime, withSlot, parseForm, unpack, parseYaml }: Deps) => {
  const authorize = authorizeRequest(IMPORT, runtime);
  return async (c: Context): Promise<Response> => {
    const request = await authorize(c);
    assertNoQuery(c);
    return withSlot(request.info.tenant, async () => {
      // The bytes of the file show whether a request is a repeat. The bytes of the form itself differ each time,
      // because its boundary is random.
      const { bytes } = await readForm(parseForm, c.req.raw, { file: UPLOAD_FIELD, maxBytes: MAX_ARCHIVE_BYTES });
      const fields = await readSkillArchive({ unpack, parseYaml }, bytes);
      return runOnce(IMPORT, runtime, request, { bytes, run: (ctx) => importSkill(ctx, fields, bytes) });
    });
  };
};

export const skillImport = plainRoutes([
  uploadRoute({
    row: IMPORT,
    operationId: 'importSkill',
    description: `The archive has a file \`SKILL.md\` at its root or in its only folder. It starts with YAML between two lines \`---\`, with the fields \`name\` and \`description\`; the rest are the instructions. The slug is derived from the name, and the skill is private. The archive has at most ${MAX_ARCHIVE_BYTES} bytes; archives with links, with paths that lead outside or clash, or with files that are too many or too large are refused. A file must arrive with at least 64 KiB per second, otherwise the response is 408.\n\nRequires the permission \`tenant:skills:write\`.`,
    tag: 'Skills',
    file: 'The zip archive',
    answer: 'The new skill',
    handler: importRoute,
  }),
]);
