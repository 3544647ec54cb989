import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { GuideFiles, GuidePicture } from '../../api/console/guides.ts';
import { PROGRAM_ROOT } from '../program.ts';

const DOCS = join(PROGRAM_ROOT, 'docs');
const TYPES: Readonly<Record<string, GuidePicture['type']>> = { '.png': 'image/png', '.webp': 'image/webp', '.svg': 'image/svg+xml' };
const DIGEST_CHARACTERS = 20;

const pictureOf = async (file: string): Promise<GuidePicture> => {
  const bytes = new Uint8Array(await readFile(join(DOCS, file)));
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, DIGEST_CHARACTERS);
  return { type: TYPES[extname(file)]!, bytes, etag: `"${digest}"` };
};

/** Reads README.md, and the pages and pictures of docs/. */
export const loadGuideFiles = async (): Promise<GuideFiles> => {
  const files = (await readdir(DOCS, { recursive: true })).map((file) => file.replaceAll('\\', '/')).sort();
  const pages = files.filter((file) => extname(file) === '.md');
  const pictures = files.filter((file) => extname(file) in TYPES);
  const textOf = async (file: string) => [file.slice(0, -'.md'.length), await readFile(join(DOCS, file), 'utf8')] as const;
  return {
    readme: await readFile(join(PROGRAM_ROOT, 'README.md'), 'utf8'),
    pages: new Map(await Promise.all(pages.map(textOf))),
    pictures: new Map(await Promise.all(pictures.map(async (file) => [file, await pictureOf(file)] as const))),
  };
};
