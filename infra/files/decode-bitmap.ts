/** Row by row from the top, with four bytes per pixel: red, green, blue and opacity. */
export type Pixels = { readonly data: Uint8Array; readonly width: number; readonly height: number };

/** `palette`, `colors` and `mask` are offsets in bytes. The bytes of a row are padded to a multiple of 4. */
type Layout = {
  readonly width: number;
  readonly height: number;
  readonly isTopDown: boolean;
  readonly depth: number;
  readonly palette: number;
  readonly colors: number;
  readonly mask: number;
};

const BIT_FIELDS = 3;
const INFO_HEADER_BYTES = 40;

const rowBytes = (width: number, depth: number): number => Math.ceil((width * depth) / 32) * 4;

/** The height in the header is twice that of the icon, because a mask follows the colors. */
const layoutOf = (bitmap: Buffer): Layout => {
  const headerBytes = bitmap.readUInt32LE(0);
  const width = bitmap.readInt32LE(4);
  const rows = bitmap.readInt32LE(8) / 2;
  const height = Math.abs(rows);
  const depth = bitmap.readUInt16LE(14);
  const fieldBytes = bitmap.readUInt32LE(16) === BIT_FIELDS && headerBytes === INFO_HEADER_BYTES ? 12 : 0;
  const palette = headerBytes + fieldBytes;
  const colors = palette + (bitmap.readUInt32LE(32) || (depth <= 8 ? 1 << depth : 0)) * 4;
  return { width, height, isTopDown: rows < 0, depth, palette, colors, mask: colors + rowBytes(width, depth) * height };
};

const indexAt = (bitmap: Buffer, row: number, x: number, depth: number): number => {
  const bit = x * depth;
  return (bitmap.readUInt8(row + (bit >> 3)) >> (8 - depth - (bit & 7))) & ((1 << depth) - 1);
};

/** Returns the byte for the five bits of a color. */
const byteOf = (value: number): number => Math.round(((value & 31) * 255) / 31);

/** Returns red, green, blue and opacity of a pixel. @throws Error if the depth is unknown */
const colorAt = (bitmap: Buffer, row: number, x: number, { depth, palette }: Layout): readonly [number, number, number, number] => {
  if (depth === 16) {
    const value = bitmap.readUInt16LE(row + x * 2);
    return [byteOf(value >> 10), byteOf(value >> 5), byteOf(value), 255];
  }
  if (![1, 2, 4, 8, 24, 32].includes(depth)) throw new Error(`no bitmap has ${depth} bits per pixel`);
  const at = depth <= 8 ? palette + indexAt(bitmap, row, x, depth) * 4 : row + x * (depth / 8);
  return [bitmap.readUInt8(at + 2), bitmap.readUInt8(at + 1), bitmap.readUInt8(at), depth === 32 ? bitmap.readUInt8(at + 3) : 255];
};

/**
 * Decodes a bitmap as icons contain it. Where a bitmap has no opacity of its own, its mask says which pixels are
 * transparent; some programs leave the mask out. @throws RangeError if the bitmap ends early, Error
 */
export const decodeBitmap = (bitmap: Buffer): Pixels => {
  const layout = layoutOf(bitmap);
  const { width, height, isTopDown, depth, colors, mask } = layout;
  const data = new Uint8Array(width * height * 4);
  const rowOf = (y: number): number => (isTopDown ? y : height - 1 - y);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) data.set(colorAt(bitmap, colors + rowOf(y) * rowBytes(width, depth), x, layout), (y * width + x) * 4);
  const isOpaque = depth === 32 && data.some((byte, index) => index % 4 === 3 && byte !== 0);
  const hasMask = mask + rowBytes(width, 1) * height <= bitmap.length;
  if (isOpaque || (depth !== 32 && !hasMask)) return { data, width, height };
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      data[(y * width + x) * 4 + 3] = hasMask && indexAt(bitmap, mask + rowOf(y) * rowBytes(width, 1), x, 1) === 1 ? 0 : 255;
  return { data, width, height };
};
