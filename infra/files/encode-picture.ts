import type { EncodedPicture, EncodePicture } from '../../commands/files/picture.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';

/**
 * The maximum width and height in pixels. Pictures are limited because a small file can describe a picture of many
 * gigabytes.
 */
const MAX_SIDE = 4_096;
const MAX_PIXELS = 4_096 * 2_048;
/** The maximum side of a picture in an ICO file, in pixels. */
const MAX_ICON_SIDE = 1_024;

/** Maps the accepted content types to the names of the library's loaders. */
const LOADERS: Readonly<Record<string, string>> = {
  'image/png': 'VipsForeignLoadPng',
  'image/jpeg': 'VipsForeignLoadJpeg',
  'image/webp': 'VipsForeignLoadWebp',
  'image/gif': 'VipsForeignLoadNsgif',
};
/** The content types that clients and parsers send if they do not know the type of a file. */
const NO_CLAIM: readonly string[] = ['application/octet-stream', 'text/plain'];
const ICON = 'image/x-icon';
const ICON_NAMES: readonly string[] = ['image/x-icon', 'image/vnd.microsoft.icon', 'image/ico', 'image/icon'];

const damaged = (): Refusal => invalid('/upload', 'is not a complete picture of its type', 'bad_picture');

const tooLarge = (): Refusal =>
  invalid('/upload', `must have at most ${MAX_SIDE} x ${MAX_SIDE} and ${MAX_PIXELS} pixels`, 'too_many_pixels');

/**
 * Checks the content type that the client has sent.
 * @throws Refusal invalid if it is not the actual type of the file
 */
const assertClaim = (claimed: string | null, type: string): void => {
  const [name = ''] = (claimed ?? '').toLowerCase().split(/\s*;/);
  if (name === '' || NO_CLAIM.includes(name) || name === type || (name === 'image/jpg' && type === 'image/jpeg')) return;
  if (type === ICON && ICON_NAMES.includes(name)) return;
  throw invalid('/upload', `claims to be ${name.slice(0, 64)}, but is ${type}`, 'type_mismatch');
};

let loading: Promise<typeof import('sharp')['default']> | undefined;

/** Loads the library when the first picture arrives. Only the decoders of the accepted types are enabled. */
const loadSharp = (): Promise<typeof import('sharp')['default']> => {
  loading ??= import('sharp').then(({ default: sharp }) => {
    sharp.cache(false);
    sharp.concurrency(1);
    sharp.block({ operation: ['VipsForeignLoad'] });
    sharp.unblock({ operation: Object.values(LOADERS) });
    return sharp;
  });
  return loading;
};

type Raw = { readonly data: Uint8Array; readonly width: number; readonly height: number };

/** Encodes pixels or a file as PNG, JPEG or WebP. Of a GIF, encodes the first picture as a PNG. */
const encodeAs = async (source: Uint8Array | Raw, type: string): Promise<EncodedPicture> => {
  const sharp = await loadSharp();
  const input =
    source instanceof Uint8Array
      ? sharp(source, { limitInputPixels: MAX_PIXELS, failOn: 'error', sequentialRead: true, autoOrient: true })
      : sharp(source.data, { raw: { width: source.width, height: source.height, channels: 4 } });
  if (source instanceof Uint8Array) {
    const { width, height } = await input.metadata();
    if (width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS) throw tooLarge();
  }
  const output = type === 'image/jpeg' ? input.jpeg({ quality: 90 }) : type === 'image/webp' ? input.webp({ quality: 90 }) : input.png();
  const { data, info } = await output.toBuffer({ resolveWithObject: true });
  const content_type = type === 'image/jpeg' || type === 'image/webp' ? type : 'image/png';
  return { bytes: data, content_type, width: info.width, height: info.height };
};

/** An entry in the directory of an ICO file. */
type IconEntry = { readonly start: number; readonly size: number; readonly isPng: boolean; readonly side: number };

/** Reads the directory of an ICO file. @throws RangeError if the file ends early, Refusal invalid */
const iconEntries = (file: Buffer): IconEntry[] =>
  Array.from({ length: file.readUInt16LE(4) }, (_, index): IconEntry => {
    const at = 6 + index * 16;
    const [size, start] = [file.readUInt32LE(at + 8), file.readUInt32LE(at + 12)];
    if (start + size > file.length) throw damaged();
    const isPng = file.readUInt32BE(start) === 0x89504e47;
    const [width, height] = isPng
      ? [file.readUInt32BE(start + 16), file.readUInt32BE(start + 20)]
      : [file.readInt32LE(start + 4), Math.abs(file.readInt32LE(start + 8)) / 2];
    if (width < 1 || height < 1 || width > MAX_ICON_SIDE || height > MAX_ICON_SIDE) throw tooLarge();
    return { start, size, isPng, side: Math.max(width, height) };
  });

/** Returns an ICO file that contains only one of the pictures, so that the others are not decoded. */
const iconWithOne = (file: Buffer, index: number, { start, size }: IconEntry): Buffer => {
  const header = Buffer.alloc(22);
  header.writeUInt16LE(1, 2);
  header.writeUInt16LE(1, 4);
  file.copy(header, 6, 6 + index * 16, 22 + index * 16);
  header.writeUInt32LE(22, 18);
  return Buffer.concat([header, file.subarray(start, start + size)]);
};

/** Encodes the largest picture of an ICO file as a PNG. */
const encodeIcon = async (bytes: Uint8Array): Promise<EncodedPicture> => {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const entries = iconEntries(file);
  const largest = Math.max(...entries.map(({ side }) => side));
  const index = entries.findIndex(({ side }) => side === largest);
  const entry = entries[index];
  if (!entry) throw damaged();
  if (entry.isPng) return encodeAs(file.subarray(entry.start, entry.start + entry.size), 'image/png');
  const { default: decodeIco } = await import('decode-ico');
  const [picture] = decodeIco(iconWithOne(file, index, entry));
  if (picture?.type !== 'bmp') throw damaged();
  return encodeAs({ data: new Uint8Array(picture.data), width: picture.width, height: picture.height }, 'image/png');
};

/**
 * Decodes a picture and encodes it again (see `EncodePicture`). Its type is detected from its first bytes, never from
 * its name.
 */
export const encodePicture: EncodePicture = async (bytes, claimed) => {
  const { fileTypeFromBuffer } = await import('file-type');
  const type = (await fileTypeFromBuffer(bytes).catch(() => undefined))?.mime as string | undefined;
  if (!type || !(type === ICON || type in LOADERS))
    throw new Refusal('unsupported_media_type', 'The picture must be a PNG, JPEG, WebP, GIF or ICO file');
  assertClaim(claimed, type);
  try {
    return await (type === ICON ? encodeIcon(bytes) : encodeAs(bytes, type));
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw /pixel limit/i.test(String(error)) ? tooLarge() : damaged();
  }
};
