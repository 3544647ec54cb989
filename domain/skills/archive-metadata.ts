/**
 * Names of files that are added to what people pack: by the Finder, the Explorer, storage devices, office programs, and version control.
 * Names that start with a dot are not listed.
 */
const NAMES: ReadonlySet<string> = new Set([
  ...['__macosx', 'icon\r', 'network trash folder', 'temporary items'],
  ...['thumbs.db', 'ehthumbs.db', 'ehthumbs_vista.db', 'desktop.ini', '$recycle.bin', 'recycler', 'system volume information'],
  ...['@eadir', '#recycle', '@recycle', 'lost+found'],
  ...['cvs', '_darcs', 'pax_global_header'],
]);

/** The names of files with which office programs mark a document that is open. */
const OPEN_DOCUMENT = /^~\$/;

const isMetadataName = (name: string): boolean => name.startsWith('.') || NAMES.has(name.toLowerCase()) || OPEN_DOCUMENT.test(name);

/** Added by a program, and not packed by people. */
export const isMetadata = (path: string): boolean => path.split('/').some(isMetadataName);
