import { counted } from '../counted.ts';
import type { Refusal } from '../refusal.ts';
import { badArchive } from './archive-rules.ts';

/** Describes a skill in its archive: YAML between two lines `---`, then the instructions. */
export const MANIFEST = 'SKILL.md';

/** The YAML part, in characters. */
const MAX_FRONT_MATTER_LENGTH = 16_384;

/** Both numbers start at 1. */
export type Place = { readonly line: number; readonly column: number };

/** `message` starts with a verb. */
export const badManifest = (message: string, place?: Place): Refusal =>
  badArchive('bad_manifest', `${MANIFEST}${place ? `, line ${place.line}, column ${place.column},` : ''} ${message}`);

/** The YAML starts in line `firstLine`. */
export type Manifest = { readonly frontMatter: string; readonly firstLine: number; readonly instructions: string };

const MARK = /^---\s*$/;
const END = /^(?:---|\.\.\.)\s*$/;

/** @throws Refusal invalid if it does not start with YAML between two lines `---`, or if the YAML is too long */
export const splitManifest = (text: string): Manifest => {
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  const start = lines.findIndex((line) => line.trim() !== '');
  if (start < 0) throw badManifest('is empty: start it with the fields name and description between two lines ---');
  const place = { line: start + 1, column: 1 };
  if (!MARK.test(lines[start]!))
    throw badManifest(
      `starts with ${JSON.stringify(lines[start]!.slice(0, 40))}: start it with a line ---, the fields name and description, and another line ---`,
      place,
    );
  const end = lines.findIndex((line, index) => index > start && END.test(line));
  if (end < 0)
    throw badManifest('starts fields with this line ---, but no other line --- ends them: write one before the instructions', place);
  const frontMatter = lines.slice(start + 1, end).join('\n');
  if (frontMatter.length > MAX_FRONT_MATTER_LENGTH)
    throw badManifest(
      `has ${counted(frontMatter.length, 'character')} between the lines ---; at most ${MAX_FRONT_MATTER_LENGTH} are allowed`,
      place,
    );
  const instructions = lines
    .slice(end + 1)
    .join('\n')
    .trim();
  return { frontMatter, firstLine: start + 2, instructions };
};

/** `PDF forms` becomes `pdf-forms`. Null if the name contains no letter a-z and no digit. */
export const slugFrom = (name: string): string | null => {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const slug = plain
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 64)
    .replace(/-$/, '');
  return slug === '' ? null : slug;
};
