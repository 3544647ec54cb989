import type { Refusal } from '../refusal.ts';
import { isMetadata } from './archive-metadata.ts';
import { badArchive, quoted } from './archive-rules.ts';
import { MANIFEST } from './manifest.ts';

/** The maximum number of names that a refusal lists. */
const MAX_LISTED = 5;

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Whether it is the manifest depends on the other files, too. */
export const mayBeManifest = (path: string): boolean => nameOf(path) === MANIFEST;

const listed = (names: readonly string[]): string =>
  names.slice(0, MAX_LISTED).map(quoted).join(', ') + (names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : '');

/** Describes an archive without a manifest at the right place: what it contains, and what to do. */
const findings = (paths: readonly string[]): string => {
  const manifests = paths.filter(mayBeManifest);
  const similar = paths.find((path) => /^skills?(?:\.md|\.markdown|\.txt|\.md\.txt)?$/i.test(nameOf(path)));
  const archive = paths.find((path) => /\.(?:zip|skill)$/i.test(path));
  const outermost = [...new Set(paths.map((path) => path.replace(/\/.*/, '/')))];
  if (paths.length === 0) return 'it has no files: pack the folder of the skill';
  if (manifests.length > 1) return `it has ${listed(manifests)}: pack each skill alone`;
  if (manifests.length === 1) return `it has ${listed(outermost)} and the file at ${quoted(manifests[0]!)}: pack its folder alone`;
  if (similar) return `it has ${quoted(similar)}: name it ${MANIFEST}`;
  if (paths.length === 1 && archive) return `it has only the archive ${quoted(archive)}: send that one`;
  return `it has ${listed(outermost)}: add the file`;
};

const noManifest = (paths: readonly string[]): Refusal =>
  badArchive('no_manifest', `The archive must have the file ${MANIFEST} at its root or in its only folder, but ${findings(paths)}`);

/** The outermost folder that contains all paths, with its slash. */
const onlyFolder = (paths: readonly string[]): string | null => {
  const folder = paths[0]?.replace(/\/.*/, '/');
  return folder?.endsWith('/') && paths.every((path) => path.startsWith(folder)) ? folder : null;
};

/**
 * SKILL.md outside of any folder or, if there is only one, in it. Ignores files that programs add. @throws Refusal invalid if there is
 * none
 */
export const manifestPath = (paths: readonly string[]): string => {
  const packed = paths.filter((path) => !isMetadata(path));
  const own = packed.length > 0 ? packed : paths.filter(mayBeManifest);
  let folder = '';
  for (let rest = own; ; ) {
    if (rest.includes(MANIFEST)) return folder + MANIFEST;
    const inner = onlyFolder(rest);
    if (inner === null) throw noManifest(own);
    folder += inner;
    rest = rest.map((path) => path.slice(inner.length));
  }
};
