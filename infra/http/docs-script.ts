import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

type Script = { gzip: Uint8Array<ArrayBuffer>; etag: string };

const require = createRequire(import.meta.url);

const load = async (): Promise<Script> => {
  const script = await readFile(join(dirname(require.resolve('@scalar/fastify-api-reference')), 'js/standalone.js'));
  const zipped = new Uint8Array(await promisify(gzip)(script));
  return { gzip: zipped, etag: `"${createHash('sha256').update(script).digest('hex').slice(0, 20)}"` };
};

/** The page script of the API reference from its package, zipped once, at the first look. */
export const lazyDocsScript = (): (() => Promise<Script>) => {
  let loaded: Promise<Script> | undefined;
  return () => {
    loaded ??= load();
    return loaded;
  };
};
