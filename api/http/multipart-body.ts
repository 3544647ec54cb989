import { invalid, Refusal } from '../../domain/refusal.ts';
import { assertNotEncoded, rejectTruncated } from './json-body.ts';

/** How many bytes a body may have besides its file: delimiters and the headers of its parts. */
const MAX_OVERHEAD_BYTES = 16_384;
const MAX_PARTS = 10;
/** A body must arrive at this rate, after a first time that does not count. */
const MIN_BYTES_PER_SECOND = 65_536;
const GRACE_SECONDS = 10;
const CHECK_INTERVAL_MS = 1_000;

/**
 * Returns the delimiter of the parts.
 * @throws Refusal unsupported_media_type if the body is not multipart/form-data, malformed if it names no boundary
 */
const delimiterOf = (type: string): string => {
  if (type.split(';')[0]!.trim().toLowerCase() !== 'multipart/form-data')
    throw new Refusal('unsupported_media_type', 'The body must be multipart/form-data');
  const boundary = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i.exec(type);
  if (!boundary) throw new Refusal('malformed', 'The Content-Type must name a boundary of 1 to 70 characters');
  return `--${boundary[1] ?? boundary[2]}`;
};

const tooLarge = (maxBytes: number): Refusal =>
  new Refusal('too_large', `The file may have at most ${maxBytes} bytes`, { members: { limit: maxBytes } });

/**
 * Reads a body whole.
 * @throws Refusal too_large as soon as it is longer than `limit`, too_slow, malformed if it is truncated
 */
const readWhole = async ({ body, headers }: Request, limit: number, refuse: () => Refusal): Promise<Buffer> => {
  if (Number(headers.get('content-length') ?? 0) > limit) throw refuse();
  if (!body) return Buffer.alloc(0);
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  const start = performance.now();
  let size = 0;
  let isSlow = false;
  const timer = setInterval(() => {
    isSlow = performance.now() - start > (GRACE_SECONDS + size / MIN_BYTES_PER_SECOND) * 1_000;
    if (isSlow) reader.cancel().catch(() => {});
  }, CHECK_INTERVAL_MS);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (isSlow) throw new Refusal('too_slow', `The body must arrive with at least ${MIN_BYTES_PER_SECOND} bytes per second`);
      if (done) return Buffer.concat(chunks);
      size += value.length;
      if (size > limit) throw refuse();
      chunks.push(value);
    }
  } catch (error) {
    return rejectTruncated(error);
  } finally {
    clearInterval(timer);
    reader.cancel().catch(() => {});
  }
};

const countParts = (body: Buffer, delimiter: string): number => {
  let parts = 0;
  for (let at = body.indexOf(delimiter); at >= 0 && parts <= MAX_PARTS + 1; at = body.indexOf(delimiter, at + delimiter.length)) parts++;
  return parts - 1;
};

/**
 * A file of a form. `filename` and `contentType` are what the client says: the name may have any characters, and the
 * type need not be that of the content.
 */
export type UploadedFile = { readonly bytes: Uint8Array; readonly filename: string; readonly contentType: string | null };

/** A form: the names of its file and of its texts, which may be absent, and how many bytes the file may have. */
export type FormShape = { readonly file: string; readonly texts?: readonly string[]; readonly maxBytes: number };

/** The file of a form and its texts by name. */
export type UploadedForm = UploadedFile & { readonly texts: Readonly<Record<string, string>> };

/** Returns the texts of a form. @throws Refusal invalid if one occurs twice or is a file */
const textsIn = (form: FormData, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name): [string, string][] => {
      const [value, ...others] = form.getAll(name);
      if (value === undefined) return [];
      if (others.length > 0) throw invalid(`/${name}`, 'must occur only once', 'duplicate');
      if (typeof value !== 'string') throw invalid(`/${name}`, 'must be a text: its part must not have a filename', 'no_text');
      return [[name, value]];
    }),
  );

/**
 * Reads a body of the type multipart/form-data with one file, and with texts.
 * @throws Refusal unsupported_media_type, malformed, too_large if the file is too large, too_slow, invalid
 */
export const readForm = async (request: Request, { file: field, texts = [], maxBytes }: FormShape): Promise<UploadedForm> => {
  const type = request.headers.get('content-type') ?? '';
  const delimiter = delimiterOf(type);
  assertNotEncoded(request.headers.get('content-encoding'));
  const body = await readWhole(request, maxBytes + MAX_OVERHEAD_BYTES, () => tooLarge(maxBytes));
  if (countParts(body, delimiter) > MAX_PARTS) throw invalid('', `must have at most ${MAX_PARTS} parts`, 'too_many_parts');
  const form = await new Response(new Uint8Array(body.buffer, body.byteOffset, body.length) as never, { headers: { 'content-type': type } })
    .formData()
    .catch(() => {
      throw new Refusal('malformed', 'The body is not valid multipart/form-data');
    });
  const unknown = [...form.keys()].find((name) => name !== field && !texts.includes(name));
  if (unknown !== undefined) throw invalid(`/${unknown.slice(0, 64)}`, 'is not a field of this request', 'unknown_field');
  const [file, ...others] = form.getAll(field);
  if (file === undefined) throw invalid(`/${field}`, 'is required', 'required');
  if (others.length > 0) throw invalid(`/${field}`, 'must occur only once', 'duplicate');
  if (typeof file === 'string') throw invalid(`/${field}`, 'must be a file: its part needs a filename', 'no_file');
  if (file.size > maxBytes) throw tooLarge(maxBytes);
  const contentType = file.type === '' ? null : file.type;
  return { bytes: new Uint8Array(await file.arrayBuffer()), filename: file.name, contentType, texts: textsIn(form, texts) };
};

/** Reads a form that has only a file (see `readForm`). */
export const readUpload = (request: Request, field: string, maxBytes: number): Promise<UploadedFile> =>
  readForm(request, { file: field, maxBytes });
