import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

type DocsScript = { gzip: Uint8Array<ArrayBuffer>; etag: string };

const require = createRequire(import.meta.url);

const loadScript = async (): Promise<DocsScript> => {
  const script = await readFile(join(dirname(require.resolve('@scalar/fastify-api-reference')), 'js/standalone.js'));
  const compressed = new Uint8Array(await promisify(gzip)(script));
  return { gzip: compressed, etag: `"${createHash('sha256').update(script).digest('hex').slice(0, 20)}"` };
};

/** The first call loads and compresses the script of the API reference page. */
export const lazyDocsScript = (): (() => Promise<DocsScript>) => {
  let loaded: Promise<DocsScript> | undefined;
  return () => {
    loaded ??= loadScript();
    return loaded;
  };
};
