import type { Context } from 'hono';
import { assertOwnListing, publishVersion, VersionFields } from '../../commands/marketplace/listing.ts';
import { type ImportPorts, readSkillArchive } from '../../commands/skills/import-skill.ts';
import { archiveErrorAt, MAX_ARCHIVE_BYTES } from '../../domain/skills/archive-rules.ts';
import { VersionRead } from '../../projections/marketplace/listing.ts';
import { authorizeRequest } from '../http/authorize-request.ts';
import { assertNoQuery, runOnce } from '../http/mount.ts';
import { readForm } from '../http/multipart-body.ts';
import { operation } from '../http/operation.ts';
import { plainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { type UploadDeps, uploadRoute } from '../http/upload-route.ts';
import { parseOrRefuse } from '../http/validation.ts';

type Deps = ImportPorts & UploadDeps & { readonly runtime: Runtime };

const FILE = 'bundle';
const PUBLISH = operation({
  method: 'post',
  path: '/tenant/:tenant_id/marketplace/listings/:id/versions',
  summary: 'Publish a version of a listing',
  permit: 'tenant:marketplace:write',
  reply: VersionRead,
  status: 201,
  location: '/tenant/:tenant_id/marketplace/listings/:id/versions/:version',
  run: () => null,
});

const publish = ({ runtime, withSlot, parseForm, unpack, parseYaml }: Deps) => {
  const authorize = authorizeRequest(PUBLISH, runtime);
  return async (c: Context): Promise<Response> => {
    const request = await authorize(c);
    const id = request.params.id!;
    assertNoQuery(c);
    await assertOwnListing(runtime.context(request.info), id);
    return withSlot(request.info.tenant, async () => {
      const form = { file: FILE, texts: Object.keys(VersionFields.shape), maxBytes: MAX_ARCHIVE_BYTES };
      const { bytes: bundle, sha256, texts } = await readForm(parseForm, c.req.raw, form);
      const { version } = parseOrRefuse(VersionFields, texts);
      await readSkillArchive({ unpack, parseYaml }, bundle).catch((error: unknown) => {
        throw archiveErrorAt(`/${FILE}`, error);
      });
      // These bytes show whether a request is a repeat. The bytes of the form itself differ each time, because its
      // boundary is random.
      const bytes = new TextEncoder().encode(JSON.stringify([sha256, version]));
      return runOnce(PUBLISH, runtime, request, { bytes, run: (ctx) => publishVersion(ctx, { id, version }, bundle) });
    });
  };
};

export const versionUpload = plainRoutes([
  uploadRoute({
    row: PUBLISH,
    operationId: 'publishVersion',
    description: `The bundle is a zip archive of a skill, under the same rules as for the import of skills, with at most ${MAX_ARCHIVE_BYTES} bytes. A version never changes: publishing it again is refused with 409, also after it was yanked.\n\nRequires the permission \`tenant:marketplace:write\`.`,
    tag: 'Marketplace',
    field: FILE,
    file: 'The zip archive of the skill',
    texts: VersionFields,
    answer: 'The new version',
    handler: publish,
  }),
]);
