import type { EncodedPicture, EncodePicture } from '../../commands/files/picture.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { decodeBitmap, type Pixels } from './decode-bitmap.ts';
import { pictureRefusal } from './picture-refusal.ts';

/** In pixels: a small file can describe a picture of many gigabytes. */
const MAX_SIDE = 4_096;
const MAX_PIXELS = 4_096 * 2_048;
/** In pixels. */
const MAX_ICON_SIDE = 1_024;
/** The sizes of the headers of bitmaps that have their fields in the same places, in bytes. */
const BITMAP_HEADER_BYTES: readonly number[] = [40, 52, 56, 64, 108, 124];

/** The names of the library's loaders by accepted content type. */
const LOADERS: Readonly<Record<string, string>> = {
  'image/png': 'VipsForeignLoadPng',
  'image/apng': 'VipsForeignLoadPng',
  'image/jpeg': 'VipsForeignLoadJpeg',
  'image/webp': 'VipsForeignLoadWebp',
  'image/gif': 'VipsForeignLoadNsgif',
};
const ICON = 'image/x-icon';

const damaged = (): Refusal => invalid('/upload', 'is not a complete picture of its type: save it again', 'bad_picture');

const tooLarge = (limit = `${MAX_SIDE} x ${MAX_SIDE} and ${MAX_PIXELS}`): Refusal =>
  invalid('/upload', `must have at most ${limit} pixels`, 'too_many_pixels');

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

/** Encodes pixels or a file as PNG, JPEG or WebP. For a GIF, encodes the first picture as a PNG. */
const encodeAs = async (source: Uint8Array | Pixels, type: string): Promise<EncodedPicture> => {
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

type IconEntry = { readonly start: number; readonly size: number; readonly isPng: boolean; readonly side: number; readonly depth: number };

/** @throws RangeError if the file ends early, Refusal invalid */
const iconEntries = (file: Buffer): IconEntry[] =>
  Array.from({ length: file.readUInt16LE(4) }, (_, index): IconEntry => {
    const at = 6 + index * 16;
    const [size, start] = [file.readUInt32LE(at + 8), file.readUInt32LE(at + 12)];
    if (start + size > file.length) throw damaged();
    const isPng = file.readUInt32BE(start) === 0x89504e47;
    if (!isPng && !BITMAP_HEADER_BYTES.includes(file.readUInt32LE(start))) throw damaged();
    const [width, height] = isPng
      ? [file.readUInt32BE(start + 16), file.readUInt32BE(start + 20)]
      : [file.readInt32LE(start + 4), Math.abs(file.readInt32LE(start + 8)) / 2];
    if (width < 1 || height < 1) throw damaged();
    if (width > MAX_ICON_SIDE || height > MAX_ICON_SIDE) throw tooLarge(`${MAX_ICON_SIDE} x ${MAX_ICON_SIDE}`);
    return { start, size, isPng, side: Math.max(width, height), depth: isPng ? 32 : file.readUInt16LE(start + 14) };
  });

/** Encodes the largest picture of an ICO file as a PNG; if several are equally large, the one with the most colors. */
const encodeIcon = async (bytes: Uint8Array): Promise<EncodedPicture> => {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [largest] = iconEntries(file).toSorted((one, other) => other.side - one.side || other.depth - one.depth);
  if (!largest) throw damaged();
  const content = file.subarray(largest.start, largest.start + largest.size);
  return encodeAs(largest.isPng ? content : decodeBitmap(content), 'image/png');
};

/** The type is detected from the first bytes, never from the name or from what the client says. */
export const encodePicture: EncodePicture = async (bytes) => {
  const { fileTypeFromBuffer } = await import('file-type');
  const type = (await fileTypeFromBuffer(bytes).catch(() => undefined))?.mime as string | undefined;
  if (!type || !(type === ICON || type in LOADERS)) throw pictureRefusal(bytes, type);
  try {
    return await (type === ICON ? encodeIcon(bytes) : encodeAs(bytes, type));
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw /pixel limit/i.test(String(error)) ? tooLarge() : damaged();
  }
};
