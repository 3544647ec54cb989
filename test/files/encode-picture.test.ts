import { crc32 } from 'node:zlib';
import sharp from 'sharp';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import { encodePicture } from '../../infra/files/encode-picture.ts';
import { iconOf, pictureOf } from '../fixtures/polyglots.ts';

type Rgb = readonly [red: number, green: number, blue: number];
const RED: Rgb = [200, 30, 30];
const BLUE: Rgb = [30, 30, 200];

/** A picture that is red on its left, and blue on its right half. */
const halves = (width = 16, height = 8) => {
  const raw = Buffer.from(Array.from({ length: width * height }, (_, index) => (index % width < width / 2 ? RED : BLUE)).flat());
  return sharp(raw, { raw: { width, height, channels: 3 } });
};

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [size, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  size.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([size, body, checksum]);
};

/** Makes an animated PNG with one frame of a PNG: its header, and after it the chunks of the animation. */
const animated = (png: Buffer): Buffer => {
  const control = Buffer.alloc(8);
  control.writeUInt32BE(1, 0);
  const frame = Buffer.alloc(26);
  png.copy(frame, 4, 16, 24);
  return Buffer.concat([png.subarray(0, 33), chunk('acTL', control), chunk('fcTL', frame), png.subarray(33)]);
};

/** Makes an icon with bitmaps of 8 x 8 pixels, of which the left half is red; `mask` hides the lowest row. */
const bitmap = (depth: number, { mask = true, alpha = 255, isTopDown = false, used = 0 } = {}): Buffer => {
  const header = Buffer.alloc(40);
  for (const [at, value] of [
    [0, 40],
    [4, 8],
    [8, isTopDown ? -16 : 16],
    [32, used],
  ] as const)
    header.writeInt32LE(value, at);
  header.writeUInt16LE(1, 12);
  header.writeUInt16LE(depth, 14);
  const colors = [RED, BLUE].map(([red, green, blue]) => Buffer.of(blue, green, red, alpha));
  const palette = depth <= 8 ? Buffer.concat([...colors, Buffer.alloc(((used || 1 << depth) - 2) * 4)]) : Buffer.alloc(used * 4);
  const rgb16 = (of: Rgb) => Buffer.from(Uint16Array.of(((of[0] >> 3) << 10) | ((of[1] >> 3) << 5) | (of[2] >> 3)).buffer);
  const pixel = (index: number): Buffer => (depth === 16 ? rgb16([RED, BLUE][index]!) : colors[index]!.subarray(0, depth / 8));
  const packed = { 1: Buffer.of(0x0f, 0, 0, 0), 4: Buffer.of(0, 0, 0x11, 0x11), 8: Buffer.of(0, 0, 0, 0, 1, 1, 1, 1) }[depth];
  const row = packed ?? Buffer.concat(Array.from({ length: 8 }, (_, x) => pixel(x < 4 ? 0 : 1)));
  const hidden = Buffer.concat(Array.from({ length: 8 }, (_, y) => Buffer.of(y === (isTopDown ? 7 : 0) ? 0xff : 0, 0, 0, 0)));
  return Buffer.concat([header, palette, ...Array.from({ length: 8 }, () => row), ...(mask ? [hidden] : [])]);
};

const icon = (...contents: readonly Buffer[]): Buffer => {
  const header = Buffer.alloc(6 + contents.length * 16);
  header.writeUInt16LE(1, 2);
  header.writeUInt16LE(contents.length, 4);
  let at = header.length;
  for (const [index, content] of contents.entries()) {
    header.writeUInt32LE(content.length, 6 + index * 16 + 8);
    header.writeUInt32LE(at, 6 + index * 16 + 12);
    at += content.length;
  }
  return Buffer.concat([header, ...contents]);
};
const cursor = (file: Buffer): Buffer => Buffer.concat([file.subarray(0, 2), Buffer.of(2), file.subarray(3)]);

const png = await halves().png().toBuffer();
const frames = [await halves().png().toBuffer(), await pictureOf('png', 16, 8)];
const turned = await halves().rotate(270).jpeg({ quality: 100 }).withMetadata({ orientation: 6 }).toBuffer();

/** [the format, with its variant, the picture, the type that is stored] The pictures are red on the left, blue on the right. */
const PICTURES: readonly (readonly [variant: string, picture: Buffer, type: string])[] = [
  ['JPEG, baseline', await halves().jpeg({ quality: 100 }).toBuffer(), 'image/jpeg'],
  ['JPEG, progressive', await halves().jpeg({ quality: 100, progressive: true }).toBuffer(), 'image/jpeg'],
  ['JPEG, 4:4:4', await halves().jpeg({ quality: 100, chromaSubsampling: '4:4:4' }).toBuffer(), 'image/jpeg'],
  ['JPEG, CMYK as of a printing house', await halves().toColourspace('cmyk').jpeg({ quality: 100 }).toBuffer(), 'image/jpeg'],
  ['JPEG, turned by EXIF as of a phone', turned, 'image/jpeg'],
  ['JPEG, with a color profile', await halves().withIccProfile('p3').jpeg({ quality: 100 }).toBuffer(), 'image/jpeg'],
  ['PNG, RFC 2083', png, 'image/png'],
  ['PNG, interlaced', await halves().png({ progressive: true }).toBuffer(), 'image/png'],
  ['PNG, 16 bits', await halves().toColourspace('rgb16').png().toBuffer(), 'image/png'],
  ['PNG, palette', await halves().png({ palette: true }).toBuffer(), 'image/png'],
  ['PNG, opacity', await halves().ensureAlpha().png().toBuffer(), 'image/png'],
  ['PNG, animated (APNG)', animated(png), 'image/png'],
  ['WebP, lossy', await halves().webp({ quality: 100 }).toBuffer(), 'image/webp'],
  ['WebP, lossless', await halves().webp({ lossless: true }).toBuffer(), 'image/webp'],
  [
    'WebP, animated',
    await sharp(frames, { join: { animated: true } })
      .webp({ lossless: true })
      .toBuffer(),
    'image/webp',
  ],
  ['GIF', await halves().gif().toBuffer(), 'image/png'],
  ['GIF, interlaced', await halves().gif({ progressive: true }).toBuffer(), 'image/png'],
  [
    'GIF, animated',
    await sharp(frames, { join: { animated: true } })
      .gif()
      .toBuffer(),
    'image/png',
  ],
  ['ICO with a PNG', iconOf(png), 'image/png'],
  ['ICO, 1 bit', icon(bitmap(1)), 'image/png'],
  ['ICO, 4 bits', icon(bitmap(4)), 'image/png'],
  ['ICO, 8 bits', icon(bitmap(8)), 'image/png'],
  ['ICO, 8 bits, with fewer colors', icon(bitmap(8, { used: 2 })), 'image/png'],
  ['ICO, 16 bits', icon(bitmap(16)), 'image/png'],
  ['ICO, 24 bits', icon(bitmap(24)), 'image/png'],
  ['ICO, 24 bits without a mask', icon(bitmap(24, { mask: false })), 'image/png'],
  ['ICO, 24 bits with a palette', icon(bitmap(24, { used: 2 })), 'image/png'],
  ['ICO, 32 bits', icon(bitmap(32)), 'image/png'],
  ['ICO, 32 bits, all transparent but for the mask', icon(bitmap(32, { alpha: 0 })), 'image/png'],
  ['ICO, from the top', icon(bitmap(32, { isTopDown: true })), 'image/png'],
  ['ICO, two of a size', icon(Buffer.alloc(40 + 72, bitmap(1).subarray(0, 40)), bitmap(32)), 'image/png'],
  ['CUR, as ICO', cursor(icon(bitmap(32))), 'image/png'],
];

const isNear = (found: Rgb, expected: Rgb): boolean => found.every((value, index) => Math.abs(value - expected[index]!) < 80);

test('every variant of an accepted format is decoded: its pixels are stored, the first frame, and turned as people see it', async () => {
  for (const [variant, picture, type] of PICTURES) {
    const { bytes, content_type, width, height } = await encodePicture(picture).catch((error: unknown) => {
      throw new Error(variant, { cause: error });
    });
    const { data } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
    const at = (x: number, y: number): Rgb => [...data.subarray((y * width + x) * 4, (y * width + x) * 4 + 3)] as unknown as Rgb;
    assert.equal([content_type, width, height, variant], [type, variant.includes('PNG') || !/ICO|CUR/.test(variant) ? 16 : 8, 8, variant]);
    assert.ok(isNear(at(1, 1), RED) && isNear(at(width - 2, 1), BLUE), `${variant}: ${at(1, 1)}, ${at(width - 2, 1)}`);
    assert.is(data[(width + 1) * 4 + 3], 255, `${variant}: opaque`);
  }
});

test('the mask of an icon makes pixels transparent if its colors have no opacity', async () => {
  for (const [depth, alpha] of [
    [1, 255],
    [4, 255],
    [8, 255],
    [16, 255],
    [24, 255],
    [32, 0],
  ] as const)
    for (const isTopDown of [false, true]) {
      const { bytes } = await encodePicture(icon(bitmap(depth, { alpha, isTopDown })));
      const { data } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
      const opacity = Array.from({ length: 8 }, (_, y) => data[y * 32 + 3]);
      assert.equal(opacity, [255, 255, 255, 255, 255, 255, 255, 0], `${depth} bits`);
    }
});

const heic = Buffer.from('0000001c6674797068656963000000006d696631686569636d696166', 'hex');

/** [what was sent, the file, what the refusal says] */
const REFUSED: readonly (readonly [what: string, file: Buffer, message: RegExp])[] = [
  ['nothing', Buffer.alloc(0), /it is empty: save it as a PNG$/],
  [
    'an SVG',
    Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    /^The picture must be a PNG, JPEG, WebP, GIF or ICO file, but it is an SVG/,
  ],
  ['an SVG with a declaration', Buffer.from('<?xml version="1.0"?>\n<!-- x -->\n<svg/>'), /it is an SVG/],
  ['an SVG in UTF-16', Buffer.from('\ufeff<svg/>', 'utf16le'), /it is an SVG/],
  ['AVIF', await pictureOf('avif'), /it is an AVIF picture/],
  ['HEIC', heic, /it is a HEIC picture, as an iPhone takes it/],
  ['TIFF', await pictureOf('tiff'), /it is a TIFF picture/],
  ['BMP', Buffer.concat([Buffer.from('BM'), Buffer.alloc(60)]), /it is a BMP picture/],
  ['JPEG XL', Buffer.from('ff0a', 'hex'), /it is a JPEG XL picture/],
  ['PDF', Buffer.from('%PDF-1.7\n'), /it is a PDF document/],
  ['a web page', Buffer.from('<!doctype html><p>'), /it is an HTML page/],
  ['a text', Buffer.from('no picture'), /it is not a known type of picture/],
];

test('a file that is not an accepted picture is refused, and the error says what it is', async () => {
  for (const [what, file, message] of REFUSED) {
    const error = await encodePicture(file).then(
      () => assert.unreachable(what),
      (reason: unknown) => reason,
    );
    if (!(error instanceof Refusal)) throw error;
    assert.match(error.message, message, what);
    assert.is(error.code, 'unsupported_media_type', what);
  }
});

/** Makes a header of a bitmap with this size in its first field. */
const header = (bytes: number, side = 8): Buffer =>
  Buffer.from(Int32Array.of(bytes, side, side * 2, 0x200001, ...Array(30).fill(0)).buffer);

/** [what an icon contains, the contents, what the refusal says] */
const BAD_ICONS: readonly (readonly [what: string, content: Buffer, message: RegExp])[] = [
  ['a JPEG', await halves().jpeg().toBuffer(), /is not a complete picture of its type/],
  ['a WebP', await halves().webp().toBuffer(), /is not a complete picture of its type/],
  ['garbage', Buffer.alloc(200, 0x7f), /is not a complete picture of its type/],
  ['zeros', Buffer.alloc(200), /is not a complete picture of its type/],
  ['a header of OS/2', header(12), /is not a complete picture of its type/],
  ['no pixels', header(40, 0), /is not a complete picture of its type/],
  ['a header alone', header(40), /is not a complete picture of its type/],
  ['many pixels', header(40, 1_025), /must have at most 1024 x 1024 pixels/],
  ['a PNG with many pixels', await pictureOf('png', 1_025, 8), /must have at most 1024 x 1024 pixels/],
];

test('an icon that cannot be decoded is refused with the true reason', async () => {
  for (const [what, content, message] of BAD_ICONS) {
    const error = await encodePicture(icon(content)).then(
      () => assert.unreachable(what),
      (reason: unknown) => reason,
    );
    if (!(error instanceof Refusal)) throw error;
    assert.match(error.message, message, what);
  }
});

test.run();
