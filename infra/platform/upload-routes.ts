import type { Hono } from 'hono';
import type { Logger } from 'pino';
import { mountPictures } from '../../api/files/picture.ts';
import { mountFileScan } from '../../api/files/scan.ts';
import { mountFiles } from '../../api/files/stored-file.ts';
import type { Runtime } from '../../api/http/runtime.ts';
import { mountMailAttachments } from '../../api/mail/attachment.ts';
import { mountPublishVersion } from '../../api/marketplace/publish-version.ts';
import { mountMemoryImport } from '../../api/memory/import-memory.ts';
import { mountSessionAttachments } from '../../api/sessions/session-attachment.ts';
import { mountSkillImport } from '../../api/skills/skill-import.ts';
import type { ScanPorts } from '../../commands/files/scan-file.ts';
import type { FileHost } from '../../commands/memory/import-memory.ts';
import { parseYaml } from '../archives/parse-yaml.ts';
import { unpackZip } from '../archives/unpack-zip.ts';
import { createTypeDetector } from '../blobs/detect-content-type.ts';
import { encodePicture } from '../files/encode-picture.ts';
import { createThreatScan } from '../files/scan-thread.ts';
import { parseForm } from '../http/parse-form.ts';
import { createUploadSlots } from '../http/upload-slots.ts';

/** `files` reads files from URLs. `findVirus` is null if no virus scanner is configured. */
export type UploadRouteOptions = {
  readonly files: FileHost;
  readonly findVirus: ScanPorts['findVirus'];
  readonly logger: Pick<Logger, 'warn'>;
};

/** Mounts the routes that receive or return files. All uploads share the same slots. */
export const mountUploadRoutes = (app: Hono, runtime: Runtime, { files, findVirus, logger }: UploadRouteOptions): void => {
  const uploads = { parseForm, withSlot: createUploadSlots() };
  mountSkillImport(app, runtime, { unpack: unpackZip, parseYaml, ...uploads });
  mountPublishVersion(app, runtime, { unpack: unpackZip, parseYaml, ...uploads });
  mountMemoryImport(app, runtime, { unpack: unpackZip, host: files, ...uploads });
  mountMailAttachments(app, runtime, { createTypeDetector, ...uploads });
  mountSessionAttachments(app, runtime, { createTypeDetector, ...uploads });
  mountFiles(app, runtime);
  mountPictures(app, runtime, { encodePicture, ...uploads });
  mountFileScan(app, runtime, { findThreats: createThreatScan({ logger }), findVirus, ...uploads });
};
