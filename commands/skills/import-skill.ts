import { z } from 'zod';
import { counted } from '../../domain/counted.ts';
import { type ParseYaml, readFrontMatter } from '../../domain/skills/front-matter.ts';
import { badManifest, slugFrom, splitManifest } from '../../domain/skills/manifest.ts';
import { manifestPath, mayBeManifest } from '../../domain/skills/manifest-path.ts';
import type * as Skill from '../../domain/skills/skill.ts';
import { decodeText } from '../../domain/text-decoder.ts';
import type { Ctx, Loaded } from '../context.ts';
import type { Unpack } from './archive.ts';
import { claimSlug, Description, Instructions, Name } from './skill.ts';

export type ImportPorts = { readonly unpack: Unpack; readonly parseYaml: ParseYaml };

const MAX_MANIFEST_BYTES = 524_288;

/** All other fields are for other programs, and are ignored. */
const SkillManifest = z.object({ name: Name, description: Description, instructions: Instructions });

/** @throws Refusal invalid */
const fieldsOf = (text: string, parseYaml: ParseYaml): Skill.SkillFields => {
  const { frontMatter, firstLine, instructions } = splitManifest(text);
  const fields = readFrontMatter(frontMatter, firstLine, parseYaml);
  const found = { name: fields.name.text, description: fields.description.text, instructions };
  const parsed = SkillManifest.safeParse(found);
  const [issue] = parsed.error?.issues ?? [];
  if (!parsed.success) {
    const field = issue!.path[0] as keyof typeof found;
    const [what, place] = field === 'instructions' ? ['instructions after the second line ---', undefined] : [`a ${field}`, fields[field]];
    throw badManifest(`has ${what} of ${counted([...found[field]].length, 'character')}, which ${issue!.message}`, place);
  }
  // YAML can write a character as an escape, so the check of the file's text does not cover all characters.
  if (!Object.values(parsed.data).every((value) => value.isWellFormed() && !value.includes('\0')))
    throw badManifest('contains U+0000 or an unpaired surrogate');
  const slug = slugFrom(parsed.data.name);
  if (!slug) throw badManifest('has a name without any of the letters a-z and digits, from which the slug is made', fields.name);
  return { ...parsed.data, slug, visibility: 'private', config_schema: null };
};

/** Returns the fields of the skill. @throws Refusal invalid if the archive breaks a rule, or has no valid SKILL.md */
export const readSkillArchive = async ({ unpack, parseYaml }: ImportPorts, archive: Uint8Array): Promise<Skill.SkillFields> => {
  const { files, kept } = await unpack(archive, { isKept: mayBeManifest, maxBytes: MAX_MANIFEST_BYTES });
  const path = manifestPath(files.map((file) => file.path));
  return fieldsOf(decodeText(kept.get(path)!, badManifest), parseYaml);
};

/**
 * Creates a private skill from an archive that `readSkillArchive` has checked. @throws Refusal slug_taken, unavailable if it cannot be
 * stored
 */
export const importSkill = async (ctx: Ctx, fields: Skill.SkillFields, archive: Uint8Array): Promise<Loaded<Skill.Skill>> => {
  const { sha256, size } = await ctx.sideEffect(() => ctx.blobs.put(archive));
  return claimSlug(ctx, { type: 'SkillImported', data: { ...fields, package_digest: sha256, package_bytes: size } });
};
