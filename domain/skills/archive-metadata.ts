/**
 * The names of files and folders that programs add to what people pack: the Finder, the Explorer, storage devices,
 * office programs, and version control. Names with a dot at their start are not listed.
 */
const NAMES: ReadonlySet<string> = new Set([
  ...['__macosx', 'icon\r', 'network trash folder', 'temporary items'],
  ...['thumbs.db', 'ehthumbs.db', 'ehthumbs_vista.db', 'desktop.ini', '$recycle.bin', 'recycler', 'system volume information'],
  ...['@eadir', '#recycle', '@recycle', 'lost+found'],
  ...['cvs', '_darcs', 'pax_global_header'],
]);

/** Matches the files with which office programs mark a document that is open. */
const OPEN_DOCUMENT = /^~\$/;

const isMetadataName = (name: string): boolean => name.startsWith('.') || NAMES.has(name.toLowerCase()) || OPEN_DOCUMENT.test(name);

/** Returns whether a path in an archive belongs to what programs add, and not to what people packed. */
export const isMetadata = (path: string): boolean => path.split('/').some(isMetadataName);
