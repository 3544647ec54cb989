import { z } from 'zod';
import { badArchive } from '../../domain/skills/archive-rules.ts';
import { MANIFEST, manifestPath, mayBeManifest, slugFrom, splitManifest } from '../../domain/skills/manifest.ts';
import type * as Skill from '../../domain/skills/skill.ts';
import type { Ctx, Loaded } from '../context.ts';
import type { Unpack } from './archive.ts';
import { claimSlug, Description, Instructions, Name } from './skill.ts';

/**
 * Parses a YAML text, which may come from an untrusted source. Returns the value as JSON or, if the text is not valid,
 * the reason.
 */
export type ParseYaml = (text: string) => { readonly value: unknown } | { readonly fault: string };

/** The functions that the import of skills needs. */
export type ImportPorts = { readonly unpack: Unpack; readonly parseYaml: ParseYaml };

const MAX_MANIFEST_BYTES = 524_288;

/** A schema for those fields of a manifest that are read. All other fields are for other programs, and are ignored. */
const SkillManifest = z.object({ name: Name, description: Description, instructions: Instructions });

const badManifest = (message: string) => badArchive('bad_manifest', `${MANIFEST} ${message}`);

/** Decodes a UTF-8 text. @throws Refusal invalid */
const decode = (bytes: Uint8Array): string => {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {}
  throw badManifest('is not a text in UTF-8');
};

/** Returns the fields of the skill that a manifest describes. @throws Refusal invalid */
const fieldsOf = (text: string, parseYaml: ParseYaml): Skill.SkillFields => {
  const manifest = splitManifest(text);
  if (!manifest) throw badManifest('must start with YAML of at most 16,384 characters between two lines ---');
  const yaml = parseYaml(manifest.frontMatter);
  if ('fault' in yaml) throw badManifest(`has invalid YAML: ${yaml.fault}`);
  const parsed = SkillManifest.safeParse({ ...(yaml.value as object | null), instructions: manifest.instructions });
  const [issue] = parsed.error?.issues ?? [];
  if (!parsed.success) throw badManifest(`has a wrong ${issue!.path.join('.')}: ${issue!.message}`);
  // YAML can write a character as an escape, so the check of the text of the file does not cover all characters.
  if (!Object.values(parsed.data).every((value) => value.isWellFormed() && !value.includes('\0')))
    throw badManifest('contains U+0000 or an unpaired surrogate');
  const slug = slugFrom(parsed.data.name);
  if (!slug) throw badManifest('has a name without any of the letters a-z and digits, from which the slug is made');
  return { ...parsed.data, slug, visibility: 'private', config_schema: null };
};

/**
 * Checks a zip archive of a skill, and returns the fields of the skill that it describes.
 * @throws Refusal invalid if the archive breaks a rule, or has no valid SKILL.md
 */
export const readSkillArchive = async ({ unpack, parseYaml }: ImportPorts, archive: Uint8Array): Promise<Skill.SkillFields> => {
  const { files, kept } = await unpack(archive, { isKept: mayBeManifest, maxBytes: MAX_MANIFEST_BYTES });
  const path = manifestPath(files.map((file) => file.path));
  if (path === null) throw badArchive('no_manifest', `The archive must have the file ${MANIFEST} at its root or in its only folder`);
  return fieldsOf(decode(kept.get(path)!), parseYaml);
};

/**
 * Creates a private skill from an archive that `readSkillArchive` has checked, and stores the archive.
 * @throws Refusal slug_taken, unavailable if the archive cannot be stored
 */
export const importSkill = async (ctx: Ctx, fields: Skill.SkillFields, archive: Uint8Array): Promise<Loaded<Skill.Skill>> => {
  const { sha256, size } = await ctx.sideEffect(() => ctx.blobs.put(archive));
  return claimSlug(ctx, { type: 'SkillImported', data: { ...fields, package_digest: sha256, package_bytes: size } });
};
