import type { Context } from 'hono';
import { z } from 'zod';
import { MAX_SCANNED_BYTES, ScanFields, type ScanPorts, scanFile } from '../../commands/files/scan-file.ts';
import { VERDICTS } from '../../domain/files/file-scan.ts';
import { authorizeRequest } from '../http/authorize-request.ts';
import { assertNoQuery, runOnce } from '../http/mount.ts';
import { readForm } from '../http/multipart-body.ts';
import { operation } from '../http/operation.ts';
import { plainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { UPLOAD_FIELD, type UploadDeps, uploadRoute } from '../http/upload-route.ts';
import { parseOrRefuse } from '../http/validation.ts';

type Deps = ScanPorts & UploadDeps & { readonly runtime: Runtime };

const ScanResult = z
  .object({
    sha256: z.string().meta({ description: 'The SHA-256 of the file, in hex', examples: ['9f86d081'.repeat(8)] }),
    content_type: z.string().meta({ description: 'The type that was found by the content of the file', examples: ['application/pdf'] }),
    verdict: z.enum(VERDICTS).meta({
      description: '`refused`: malware, or an archive that breaks a rule. `suspicious`: something that can run, or that was not checked',
      examples: ['suspicious'],
    }),
    findings: z
      .array(
        z.object({
          code: z.string().meta({ description: 'What was found, for programs', examples: ['macro'] }),
          verdict: z.enum(['suspicious', 'refused']).meta({ description: 'The verdict that follows from this finding' }),
          path: z
            .string()
            .nullable()
            .meta({ description: 'The file in the archive; null for the file itself', examples: [null] }),
          message: z.string().meta({ description: 'What was found', examples: ['It contains macros'] }),
        }),
      )
      .meta({ description: 'What was found, the worst first, at most 100' }),
  })
  .meta({ id: 'ScanResult' });

const SCAN = operation({
  method: 'post',
  path: '/tenant/:tenant_id/files/scan',
  summary: 'Check a file for threats',
  permit: 'tenant:read',
  reply: ScanResult,
  noETag: true,
  run: () => null,
});

const scan = ({ runtime, withSlot, parseForm, findThreats, findVirus }: Deps) => {
  const authorize = authorizeRequest(SCAN, runtime);
  return async (c: Context): Promise<Response> => {
    const request = await authorize(c);
    assertNoQuery(c);
    return withSlot(request.info.tenant, async () => {
      const form = { file: UPLOAD_FIELD, texts: Object.keys(ScanFields.shape), maxBytes: MAX_SCANNED_BYTES };
      const { texts, ...file } = await readForm(parseForm, c.req.raw, form);
      const { resource_type } = parseOrRefuse(ScanFields, texts);
      // These bytes show whether a request is a repeat. The bytes of the form itself differ each time, because its
      // boundary is random.
      const bytes = new TextEncoder().encode(JSON.stringify([file.sha256, file.filename, file.contentType, resource_type]));
      return runOnce(SCAN, runtime, request, {
        bytes,
        run: (ctx) => scanFile(ctx, { findThreats, findVirus }, { ...file, resource_type }),
      });
    });
  };
};

export const fileScan = plainRoutes([
  uploadRoute({
    row: SCAN,
    operationId: 'scanFile',
    description: `Finds programs, scripts, macros, active contents, files of two types, and malware; opens zip archives, and refuses those with links, with paths that lead outside or clash, or with files that are too many or too large. With \`CLAMAV_URL\`, ClamAV checks the file, too. The file has at most ${MAX_SCANNED_BYTES} bytes and is not stored. \`clean\` means that nothing was found, not that the file is harmless.\n\nRequires the permission \`tenant:read\`.`,
    tag: 'Files',
    file: 'The file',
    texts: ScanFields,
    answer: 'The result of the check',
    handler: scan,
  }),
]);
