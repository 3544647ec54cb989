import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { GuideFile, GuideFiles } from '../../api/console/guides.ts';
import { PROGRAM_ROOT } from '../program.ts';

const DOCS = join(PROGRAM_ROOT, 'docs');
const README = join(PROGRAM_ROOT, 'README.md');
const TYPES: Readonly<Record<string, GuideFile['type']>> = {
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.svg': 'image/svg+xml',
  '.py': 'text/x-python; charset=utf-8',
};
const DIGEST_CHARACTERS = 20;

const fileOf = async (file: string): Promise<GuideFile> => {
  const bytes = new Uint8Array(await readFile(join(DOCS, file)));
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, DIGEST_CHARACTERS);
  return { type: TYPES[extname(file)]!, bytes, etag: `"${digest}"` };
};

/** README.md, and the pages, pictures and programs of docs/. Without these files, there are no guides. */
export const loadGuideFiles = async (): Promise<GuideFiles> => {
  if (!existsSync(DOCS) || !existsSync(README)) return { readme: '', pages: new Map(), files: new Map() };
  const names = (await readdir(DOCS, { recursive: true })).map((file) => file.replaceAll('\\', '/')).sort();
  const pages = names.filter((file) => extname(file) === '.md');
  const others = names.filter((file) => extname(file) in TYPES);
  const textOf = async (file: string) => [file.slice(0, -'.md'.length), await readFile(join(DOCS, file), 'utf8')] as const;
  return {
    readme: await readFile(README, 'utf8'),
    pages: new Map(await Promise.all(pages.map(textOf))),
    files: new Map(await Promise.all(others.map(async (file) => [file, await fileOf(file)] as const))),
  };
};
