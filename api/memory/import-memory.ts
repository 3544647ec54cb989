import type { Context } from 'hono';
import { loadAgent } from '../../commands/agents/agent.ts';
import {
  assertOneSource,
  importMemory,
  MAX_MEMORY_FILE_BYTES,
  MemoryImportFields,
  type MemoryPorts,
  storeMemoryUpload,
} from '../../commands/memory/import-memory.ts';
import { MAX_IMPORT_ENTRIES } from '../../domain/memory/memory-entry.ts';
import { MAX_ARCHIVE_BYTES } from '../../domain/skills/archive-rules.ts';
import { MemoryImportRead } from '../../projections/memory/memory-import.ts';
import { authorizeRequest } from '../http/authorize-request.ts';
import { assertNoQuery, runOnce } from '../http/mount.ts';
import { streamCheckedForm } from '../http/multipart-body.ts';
import { operation } from '../http/operation.ts';
import { plainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { type UploadDeps, uploadRoute } from '../http/upload-route.ts';
import { parseOrRefuse } from '../http/validation.ts';

type Deps = UploadDeps & {
  readonly unpack: MemoryPorts['unpack'];
  readonly files: MemoryPorts['host'];
  readonly runtime: Runtime;
};

const FILE = 'file';
const IMPORT = operation({
  method: 'post',
  path: '/tenant/:tenant_id/agents/:agent_id/memory/import',
  summary: 'Import texts into the memory of an agent',
  permit: 'agent:settings:write',
  reply: MemoryImportRead,
  status: 202,
  run: () => null,
});

const textsOf = (texts: Readonly<Record<string, string>>) => parseOrRefuse(MemoryImportFields, texts);

const importRoute = ({ runtime, withSlot, parseForm, unpack, files }: Deps) => {
  const authorize = authorizeRequest(IMPORT, runtime);
  return async (c: Context): Promise<Response> => {
    const request = await authorize(c);
    const agent_id = request.params.agent_id!;
    const ctx = runtime.context(request.info);
    await loadAgent(ctx, agent_id);
    assertNoQuery(c);
    return withSlot(request.info.tenant, async () => {
      const shape = {
        file: FILE,
        texts: Object.keys(MemoryImportFields.shape),
        maxBytes: MAX_MEMORY_FILE_BYTES,
        // `check` prevents the file from being stored if another field is invalid.
        check: (texts: Readonly<Record<string, string>>, hasFile: boolean) => assertOneSource(hasFile, textsOf(texts).gcs_uri),
      };
      const { value: file, texts } = await streamCheckedForm(parseForm, c.req.raw, shape, (uploaded) =>
        storeMemoryUpload(ctx, unpack, uploaded),
      );
      const source = file ? { file } : { gcs_uri: textsOf(texts).gcs_uri! };
      // These bytes show whether a request is a repeat. The bytes of the form itself differ each time, because its
      // boundary is random.
      const bytes = new TextEncoder().encode(JSON.stringify(source));
      return runOnce(IMPORT, runtime, request, { bytes, run: (of) => importMemory(of, agent_id, source, { unpack, host: files }) });
    });
  };
};

export const memoryImport = plainRoutes([
  uploadRoute({
    row: IMPORT,
    operationId: 'importMemory',
    description: `Exactly one of \`file\` and \`gcs_uri\` is required. A file is a text in UTF-8 or UTF-16, JSON Lines, a JSON array, or a zip archive of such files. The name, or else the content, says which.\n\nEach line of JSON Lines, and each item of an array, is one entry: an object with the field \`text\`, and optionally \`source\`, or only a string. Other fields are ignored. A plain text becomes entries of whole paragraphs, of at most 8,000 characters. A file has at most ${MAX_MEMORY_FILE_BYTES} bytes and ${MAX_IMPORT_ENTRIES} entries, an archive at most ${MAX_ARCHIVE_BYTES} bytes; archives follow the same rules as for the import of skills.\n\nThe whole file is checked before the response. Then a job stores the entries: \`/tenant/{tenant_id}/jobs/{id}\` shows how far it is, with the id of the import.\n\nRequires the permission \`agent:settings:write\`.`,
    tag: 'Memory',
    field: FILE,
    isFileOptional: true,
    file: 'The file',
    texts: MemoryImportFields,
    answer: 'The import, which a job finishes',
    handler: importRoute,
  }),
]);
