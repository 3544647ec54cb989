import { activePdfName } from './active-pdf.ts';
import type { Finding } from './file-scan.ts';

/** Only the start of a file is searched for scripts. */
export const SEARCHED_BYTES = 1024 * 1024;

/** The EICAR file, with which virus scanners are tested; in two parts, so that they do not report this source file. */
const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('');

/** The types of programs, as detected from the first bytes of a file. */
const PROGRAMS: ReadonlySet<string> = new Set([
  'application/x-msdownload',
  'application/x-elf',
  'application/x-mach-binary',
  'application/java-vm',
  'application/java-archive',
  'application/vnd.android.package-archive',
  'application/wasm',
  'application/x-ms-shortcut',
  'application/x-google-chrome-extension',
  'application/x-xpinstall',
  'application/x-deb',
  'application/x-rpm',
]);

/** Archives that the platform does not open. */
const CLOSED_ARCHIVES =
  /^application\/(?:gzip|x-tar|x-7z-compressed|x-rar-compressed|x-bzip2|x-xz|zstd|x-lz4|lzip|x-compress|vnd\.ms-cab-compressed|x-cpio|x-unix-archive|x-ace-compressed|x-arj|x-lzh-compressed|x-apple-diskimage|x-iso9660-image|x-asar)$/;

const SCRIPT_NAME =
  /\.(?:js|mjs|jse|vbs|vbe|wsf|wsh|ps1|psm1|bat|cmd|com|hta|scr|lnk|sh|bash|zsh|php\d?|phtml|phar|jar|reg|scf|url|chm|pif)$/i;
const PROGRAM_NAME = /\.(?:exe|dll|so|dylib|msi|sys|cpl|ocx|apk|deb|rpm)$/i;
const MACRO_NAME = /(?:^|\/)(?:vbaproject\.bin|vbadata\.xml|xl\/macrosheets\/.+|basic\/.+\.xml|scripts\/.+)$/i;
const EMBEDDED_NAME = /(?:^|\/)(?:word|xl|ppt)\/(?:embeddings|activex)\/.+\.bin$/i;
const NESTED_NAME = /\.(?:zip|7z|rar|tar|gz|tgz|bz2|xz|zst|cab|iso|img|jar|apk)$/i;

const finding = (code: string, message: string, verdict: Finding['verdict'] = 'suspicious'): Omit<Finding, 'path'> => ({
  code,
  verdict,
  message,
});
type Found = ReturnType<typeof finding>;

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
const has = (bytes: Uint8Array, text: string): boolean =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(text, 0, 'latin1');
const hasUtf16 = (bytes: Uint8Array, text: string): boolean =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(Buffer.from(text, 'utf16le'));

/** Drops zero bytes, so that UTF-16 texts can be searched like others. */
const searchedText = (bytes: Uint8Array): string => {
  const start = latin1(bytes.subarray(0, SEARCHED_BYTES));
  return /^(?:\xff\xfe|\xfe\xff|<\0|\0<)/.test(start) ? start.replaceAll('\0', '') : start;
};

const MARKUP_SCRIPT =
  /<script[\s>/]|<[a-z][^<>]{0,2000}[\s/"']on[a-z]{3,20}\s{0,20}=|javascript\s{0,20}:|<(?:iframe|object|embed|foreignObject)[\s>/]/i;
/** Markup that a file that is not a text does not contain by chance. */
const EMBEDDED_MARKUP = /<script[\s>/]|<svg[\s>]/i;
const PDF_MARKUP = /<script[\s>/]/i;
const SERVER_SCRIPT = /<\?(?:php|=)|<%[@=\s]/i;
const isText = (type: string): boolean => type.startsWith('text/') || /(?:xml|json|html)$/.test(type);
const isPdf = (type: string): boolean => type === 'application/pdf';
const isMedia = (type: string): boolean => /^(?:image|audio|video|font)\//.test(type);

const scripts = (bytes: Uint8Array, type: string): Found[] => {
  const text = searchedText(bytes);
  const found: Found[] = [];
  if (/^(?:\xef\xbb\xbf)?#!/.test(text)) found.push(finding('script', 'It starts with #!, so it is a script'));
  if (SERVER_SCRIPT.test(isText(type) ? text : '') || /<\?php/i.test(text))
    found.push(finding('script', 'It contains a script for a server'));
  const markup = isText(type) ? MARKUP_SCRIPT : isPdf(type) ? PDF_MARKUP : EMBEDDED_MARKUP;
  if (markup.test(text)) found.push(finding(isText(type) ? 'active_content' : 'polyglot', 'It contains markup that a browser would run'));
  return found;
};

const ofPdf = (bytes: Uint8Array): Found[] => {
  const name = activePdfName(bytes);
  return name ? [finding('active_content', `It contains ${name}, which can run scripts or open other files`)] : [];
};

const OLE = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/** Macros and embedded objects of the old binary format, by the names of the parts in the file. */
const ofOffice = (bytes: Uint8Array): Found[] => {
  if (!OLE.every((byte, at) => bytes[at] === byte)) return [];
  return [
    ...(hasUtf16(bytes, '_VBA_PROJECT') || hasUtf16(bytes, 'Macros') ? [finding('macro', 'It contains macros')] : []),
    ...(hasUtf16(bytes, 'Ole10Native') ? [finding('embedded_object', 'It contains an embedded file')] : []),
  ];
};

const ofRichText = (bytes: Uint8Array): Found[] =>
  latin1(bytes.subarray(0, 5)) === '{\\rtf' && ['\\objdata', '\\objupdate', '\\objautlink'].some((word) => has(bytes, word))
    ? [finding('embedded_object', 'It contains an embedded object')]
    : [];

const START_OF_ZIP = 'PK\x03\x04';
const END_OF_ZIP = 'PK\x05\x06';
/** Programs that open zip archives look for the end of the archive in this many bytes at the end of a file. */
export const MAX_END_OF_ZIP = 65_557;

export const startsAsZip = (bytes: Uint8Array): boolean => latin1(bytes.subarray(0, 4)) === START_OF_ZIP;

/** Programs look for the end of a zip archive, so other bytes can be before its start. */
const endsAsZip = (bytes: Uint8Array): boolean => has(bytes.subarray(-MAX_END_OF_ZIP), END_OF_ZIP) && has(bytes, 'PK\x01\x02');

/** A file of any type can also be an archive or a PDF, because programs accept those with other bytes before them. */
const ofPolyglot = (bytes: Uint8Array, type: string): Found[] => {
  if (startsAsZip(bytes)) return [];
  if (endsAsZip(bytes)) return [finding('polyglot', 'It is also a zip archive')];
  return !isPdf(type) && has(bytes.subarray(0, 1_024), '%PDF-') ? [finding('polyglot', 'It is also a PDF file')] : [];
};

/** A file in an archive can be an archive itself, whose files are not checked. Its first and last bytes show this. */
export const nestedArchive = (head: Uint8Array, tail: Uint8Array): Found[] =>
  startsAsZip(head) || endsAsZip(tail) ? [finding('nested_archive', 'It is an archive in an archive, which is not opened')] : [];

export const threatsInName = (name: string, isMember: boolean): Found[] => [
  ...(SCRIPT_NAME.test(name) ? [finding('script', 'It has the name of a script')] : []),
  ...(PROGRAM_NAME.test(name) ? [finding('executable', 'It has the name of a program')] : []),
  ...(isMember && MACRO_NAME.test(name) ? [finding('macro', 'It contains macros')] : []),
  ...(isMember && EMBEDDED_NAME.test(name) ? [finding('embedded_object', 'It contains an embedded object')] : []),
  ...(isMember && NESTED_NAME.test(name) ? [finding('nested_archive', 'It is an archive in an archive, which is not opened')] : []),
];

/** `type`: as detected from the first bytes. */
export const threatsInBytes = (bytes: Uint8Array, type: string): Found[] => [
  ...(has(bytes, EICAR) ? [finding('malware', 'It contains the EICAR test signature', 'refused')] : []),
  ...(PROGRAMS.has(type) ? [finding('executable', `It is a program (${type})`)] : []),
  ...(CLOSED_ARCHIVES.test(type) ? [finding('uninspected_archive', `Archives of this type are not opened (${type})`)] : []),
  ...scripts(bytes, type),
  ...(isPdf(type) ? ofPdf(bytes) : []),
  ...ofOffice(bytes),
  ...ofRichText(bytes),
  ...ofPolyglot(bytes, type),
];

/** Sent by clients that do not know the type. */
const NO_CLAIM: readonly string[] = ['application/octet-stream', 'text/plain', 'binary/octet-stream'];
const kindOf = (type: string): string => type.split('/')[0]!;

const nameIn = (claimed: string | null): string => (claimed ?? '').toLowerCase().split(/\s*;/)[0]!;

/** Reports a content type from the client that the content contradicts, such as `image/png` for a program. */
export const mismatchOf = (claimed: string | null, type: string): Found[] => {
  const name = nameIn(claimed);
  if (name === '' || NO_CLAIM.includes(name) || name === type || kindOf(name) === 'text') return [];
  if (!isMedia(name) && !isPdf(name)) return [];
  return kindOf(name) === kindOf(type) && !isPdf(name)
    ? []
    : [finding('type_mismatch', `It claims to be ${name.slice(0, 64)}, but is ${type}`)];
};

/** Types that the first bytes of a file always show. */
const RECOGNISABLE = /^(?:image\/(?:png|jpe?g|gif|webp|bmp|tiff|avif)|application\/pdf|video\/(?:mp4|webm|quicktime)|audio\/(?:ogg|flac))$/;
/** Audio and video share their file formats, so their types are often confused. */
const isRecording = (type: string): boolean => /^(?:audio|video)\/|^application\/(?:ogg|mp4)$/.test(type);
const UNKNOWN: readonly string[] = ['application/octet-stream', 'text/plain'];

/** Why the file is certainly not of the type that the client has sent; null if it may be: the detection may not know a rare picture or film type. */
export const contradictionOf = (claimed: string | null, type: string): string | null => {
  const [found] = mismatchOf(claimed, type);
  if (isRecording(nameIn(claimed)) && isRecording(type)) return null;
  return found && (RECOGNISABLE.test(nameIn(claimed)) || !UNKNOWN.includes(type)) ? found.message : null;
};
