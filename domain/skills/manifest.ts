/**
 * The name of the file in a skill archive that describes the skill. The file contains YAML between two lines `---`, and
 * then the instructions.
 */
export const MANIFEST = 'SKILL.md';

/** The maximum length of the YAML part, in characters. */
const MAX_FRONT_MATTER_LENGTH = 16_384;

/** The two parts of a manifest: the YAML, and the instructions. */
export type Manifest = { readonly frontMatter: string; readonly instructions: string };

/**
 * Splits a manifest into its parts. Returns null if it does not start with YAML between two lines `---`, or if the YAML
 * is too long.
 */
export const splitManifest = (text: string): Manifest | null => {
  const [first, ...lines] = text.replaceAll('\r\n', '\n').split('\n');
  const end = lines.findIndex((line) => /^---\s*$/.test(line));
  if (!/^---\s*$/.test(first!) || end < 0) return null;
  const frontMatter = lines.slice(0, end).join('\n');
  if (frontMatter.length > MAX_FRONT_MATTER_LENGTH) return null;
  return {
    frontMatter,
    instructions: lines
      .slice(end + 1)
      .join('\n')
      .trim(),
  };
};

/**
 * Returns whether a file may be the manifest of an archive: it is named SKILL.md, and is not in a folder or only in an
 * outermost one.
 */
export const mayBeManifest = (path: string): boolean => path === MANIFEST || /^[^/]+\/SKILL\.md$/.test(path);

/** A folder that macOS adds to archives; it contains file attributes. */
const MACOS_FOLDER = '__MACOSX/';

/**
 * Returns the path of the manifest in an archive with these files: SKILL.md outside of any folder or, if the archive
 * has only one outermost folder, in that folder. Returns null if there is none.
 */
export const manifestPath = (paths: readonly string[]): string | null => {
  if (paths.includes(MANIFEST)) return MANIFEST;
  const own = paths.filter((path) => !path.startsWith(MACOS_FOLDER));
  const found = own.find(mayBeManifest);
  const folder = found?.slice(0, -MANIFEST.length);
  return found !== undefined && own.every((path) => path.startsWith(folder!)) ? found : null;
};

/**
 * Derives a slug from a name; for example, `PDF forms` becomes `pdf-forms`. Returns null if the name contains no letter
 * a-z and no digit.
 */
export const slugFrom = (name: string): string | null => {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const slug = plain
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 64)
    .replace(/-$/, '');
  return slug === '' ? null : slug;
};
