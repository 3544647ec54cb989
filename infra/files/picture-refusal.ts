import { formatName } from '../../domain/files/file-format.ts';
import { Refusal } from '../../domain/refusal.ts';
import { decodeHead } from '../../domain/text-decoder.ts';

/** What people call the pictures that are refused, by their content type. */
const NAMES: Readonly<Record<string, string>> = {
  'image/avif': 'an AVIF picture',
  'image/heic': 'a HEIC picture, as an iPhone takes it',
  'image/heic-sequence': 'a HEIC picture, as an iPhone takes it',
  'image/heif': 'a HEIF picture',
  'image/heif-sequence': 'a HEIF picture',
  'image/jxl': 'a JPEG XL picture',
  'image/jp2': 'a JPEG 2000 picture',
  'image/tiff': 'a TIFF picture',
  'image/bmp': 'a BMP picture',
  'image/icns': 'an icon of macOS',
  'image/vnd.adobe.photoshop': 'a Photoshop file',
};

const SVG = /<svg[\s/>]/i;
/** An SVG is looked for in this many bytes at the start of a file. */
const SVG_BYTES = 4_096;

const nameOf = (bytes: Uint8Array, type: string | undefined): string => {
  if (bytes.length === 0) return 'empty';
  if (type !== undefined && NAMES[type]) return NAMES[type];
  if (SVG.test(decodeHead(bytes.subarray(0, SVG_BYTES)))) return 'an SVG';
  return formatName(bytes) ?? (type === undefined ? 'not a known type of picture' : `a file of the type ${type}`);
};

/** `type` is detected from the content. */
export const pictureRefusal = (bytes: Uint8Array, type: string | undefined): Refusal =>
  new Refusal(
    'unsupported_media_type',
    `The picture must be a PNG, JPEG, WebP, GIF or ICO file, but it is ${nameOf(bytes, type)}: save it as a PNG`,
  );
