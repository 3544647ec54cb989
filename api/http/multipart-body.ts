import { invalid, Refusal } from '../../domain/refusal.ts';
import { assertNotEncoded, rejectTruncated } from './json-body.ts';

/** The maximum number of bytes of a body in addition to its file: delimiters, the headers of its parts, and texts. */
const MAX_OVERHEAD_BYTES = 16_384;
const MAX_PARTS = 10;
/** The minimum rate at which a body must arrive. An initial time is not counted. */
const MIN_BYTES_PER_SECOND = 65_536;
const GRACE_SECONDS = 10;
const CHECK_INTERVAL_MS = 1_000;

/** A part of a form with a filename. Its content is read once, as it arrives. */
export type FormFile = {
  readonly name: string;
  readonly filename: string;
  readonly contentType: string;
  readonly content: AsyncIterable<Uint8Array>;
};

type FormLimits = { readonly boundary: string; readonly maxFileBytes: number; readonly maxParts: number; readonly signal: AbortSignal };

/**
 * The functions that `ParseForm` calls. A text without a name is the first part beyond the allowed number. If a handler
 * throws, parsing ends.
 */
type FormHandlers = {
  readonly onFile: { readonly start: (file: FormFile) => void; readonly tooLarge: () => void };
  readonly onText: (name: string | null, value: string) => void;
};

/**
 * Parses a form whose parts are separated by `boundary`. Resolves when the form was parsed to its end and its files
 * were read. If parsing ends with an error, or `signal` is aborted, reading the content of a file throws, too.
 * @throws Refusal malformed, the errors of the handlers and of `body`, and the reason of the signal
 */
export type ParseForm = (body: AsyncIterable<Uint8Array>, limits: FormLimits, handlers: FormHandlers) => Promise<void>;

/**
 * Returns the boundary in the Content-Type of a form.
 * @throws Refusal unsupported_media_type if the body is not multipart/form-data, malformed if it has no boundary
 */
const boundaryIn = (type: string): string => {
  if (type.split(';')[0]!.trim().toLowerCase() !== 'multipart/form-data')
    throw new Refusal('unsupported_media_type', 'The body must be multipart/form-data');
  const boundary = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i.exec(type);
  if (!boundary) throw new Refusal('malformed', 'The Content-Type must name a boundary of 1 to 70 characters');
  return boundary[1] ?? boundary[2]!;
};

const tooLarge = (maxBytes: number): Refusal =>
  new Refusal('too_large', `The file may have at most ${maxBytes} bytes`, { members: { limit: maxBytes } });

/**
 * Yields the bytes of a body, and refuses a client that sends too slowly. Time in which the server does not read is not
 * counted.
 * @throws Refusal too_large as soon as there are more than `limit`, too_slow, malformed if the body is truncated
 */
async function* timed({ body }: Request, limit: number, refuse: () => Refusal): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const reader = body.getReader();
  let size = 0;
  let waited = 0;
  let waitingSince = performance.now();
  let isSlow = false;
  const timer = setInterval(() => {
    const total = waited + (waitingSince === 0 ? 0 : performance.now() - waitingSince);
    isSlow ||= total > (GRACE_SECONDS + size / MIN_BYTES_PER_SECOND) * 1_000;
    if (isSlow) reader.cancel().catch(() => {});
  }, CHECK_INTERVAL_MS);
  try {
    for (;;) {
      waitingSince = performance.now();
      const { done, value } = await reader.read().catch(rejectTruncated);
      waited += performance.now() - waitingSince;
      waitingSince = 0;
      if (isSlow) throw new Refusal('too_slow', `The body must arrive with at least ${MIN_BYTES_PER_SECOND} bytes per second`);
      if (done) return;
      size += value.length;
      if (size > limit) throw refuse();
      yield value;
    }
  } finally {
    clearInterval(timer);
    reader.cancel().catch(() => {});
  }
}

/**
 * Yields a content, but ends only when the whole form is known to be valid. Calls `onFault` if the content cannot be
 * read.
 */
async function* untilValid(content: AsyncIterable<Uint8Array>, valid: Promise<void>, onFault: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    onFault();
    // This throws the reason why the form is refused, in place of the error of reading its file.
    await valid;
    throw error;
  }
  await valid;
}

/**
 * The expected parts of a form: the names of its file and of its texts, which may be absent, and the maximum size of
 * the file in bytes.
 */
export type FormShape = { readonly file: string; readonly texts?: readonly string[]; readonly maxBytes: number };

/**
 * A form whose file may be absent. `check` refuses a form because of the parts that are present, before the content of
 * the file ends.
 */
type CheckedFormShape = FormShape & { readonly check: (texts: Readonly<Record<string, string>>, hasFile: boolean) => void };

/**
 * The claims of the client about a file: the name may have any characters, and the type may differ from that of the
 * content. The content ends only when the whole form is valid; otherwise, reading it throws.
 */
export type StreamedFile = { readonly filename: string; readonly contentType: string | null; readonly content: AsyncIterable<Uint8Array> };

/** Creates the handlers for the parts of a form. `start` is called with its file. */
const partHandlers = ({ file: field, texts = [], maxBytes }: FormShape, start: (file: FormFile) => void) => {
  const found: Record<string, string> = {};
  let hasFile = false;
  const assertKnown = (name: string): void => {
    if (name !== field && !texts.includes(name)) throw invalid(`/${name.slice(0, 64)}`, 'is not a field of this request', 'unknown_field');
  };
  const handlers: FormHandlers = {
    onFile: {
      start: (file) => {
        assertKnown(file.name);
        if (file.name !== field) throw invalid(`/${file.name}`, 'must be a text: its part must not have a filename', 'no_text');
        if (hasFile) throw invalid(`/${field}`, 'must occur only once', 'duplicate');
        hasFile = true;
        start(file);
      },
      tooLarge: () => {
        throw tooLarge(maxBytes);
      },
    },
    onText: (name, value) => {
      if (name === null) throw invalid('', `must have at most ${MAX_PARTS} parts`, 'too_many_parts');
      assertKnown(name);
      if (name === field) throw invalid(`/${field}`, 'must be a file: its part needs a filename', 'no_file');
      if (name in found) throw invalid(`/${name}`, 'must occur only once', 'duplicate');
      found[name] = value;
    },
  };
  return { handlers, texts: found };
};

/** The result of reading a form. `value` is the result for its file. */
type ReadForm<T> = { readonly value: T; readonly texts: Readonly<Record<string, string>> };

/**
 * Reads a multipart/form-data body with texts and at most one file. `consume` reads the content of the file while it
 * arrives. If there is no file, `value` is null.
 * @throws Refusal unsupported_media_type, malformed, too_large if the file is too large, too_slow, invalid, and the
 * errors of `check` and `consume`
 */
export const streamCheckedForm = async <T>(
  parse: ParseForm,
  request: Request,
  shape: CheckedFormShape,
  consume: (file: StreamedFile) => Promise<T>,
): Promise<ReadForm<T | null>> => {
  const boundary = boundaryIn(request.headers.get('content-type') ?? '');
  assertNotEncoded(request.headers.get('content-encoding'));
  const limit = shape.maxBytes + MAX_OVERHEAD_BYTES;
  const refuse = () => tooLarge(shape.maxBytes);
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw refuse();
  const validity = Promise.withResolvers<void>();
  validity.promise.catch(() => {});
  const aborter = new AbortController();
  let consuming: Promise<T> | undefined;
  let isReadable = true;
  const onFault = (): void => {
    isReadable = false;
  };
  const { handlers, texts } = partHandlers(shape, ({ filename, contentType, content }) => {
    consuming = consume({ filename, contentType, content: untilValid(content, validity.promise, onFault) });
    consuming.catch((error) => aborter.abort(error));
  });
  try {
    const limits = { boundary, maxFileBytes: shape.maxBytes, maxParts: MAX_PARTS, signal: aborter.signal };
    await parse(timed(request, limit, refuse), limits, handlers);
    shape.check(texts, consuming !== undefined);
    validity.resolve();
  } catch (error) {
    validity.reject(error);
    // If the consumer fails, it stops reading, so the form looks malformed. In this case, the error of the consumer is
    // thrown.
    const failure: unknown = await consuming?.then(
      () => null,
      (reason: unknown) => reason,
    );
    throw isReadable && failure ? failure : error;
  }
  return { value: consuming ? await consuming : null, texts };
};

/** Reads a form whose file is required (see `streamCheckedForm`). */
export const streamForm = async <T>(
  parse: ParseForm,
  request: Request,
  shape: FormShape,
  consume: (file: StreamedFile) => Promise<T>,
): Promise<ReadForm<T>> => {
  const check = (_: object, hasFile: boolean): void => {
    if (!hasFile) throw invalid(`/${shape.file}`, 'is required', 'required');
  };
  const { value, texts } = await streamCheckedForm(parse, request, { ...shape, check }, consume);
  return { value: value!, texts };
};

/** A file of a form that was read completely. */
export type UploadedFile = Omit<StreamedFile, 'content'> & { readonly bytes: Uint8Array };

/** Collects a content in one buffer. If the client declares the size, the buffer is allocated with this size. */
const collect = async (content: AsyncIterable<Uint8Array>, expected: number): Promise<Uint8Array> => {
  let buffer = new Uint8Array(expected);
  let size = 0;
  for await (const bytes of content) {
    if (size + bytes.length > buffer.length) {
      const larger = new Uint8Array(Math.max(size + bytes.length, 2 * buffer.length));
      larger.set(buffer.subarray(0, size));
      buffer = larger;
    }
    buffer.set(bytes, size);
    size += bytes.length;
  }
  return buffer.subarray(0, size);
};

/** Reads a form whose file is needed as a whole (see `streamForm`). */
export const readForm = async (
  parse: ParseForm,
  request: Request,
  shape: FormShape,
): Promise<UploadedFile & { readonly texts: Readonly<Record<string, string>> }> => {
  const declared = Math.min(Number(request.headers.get('content-length')) || 65_536, shape.maxBytes);
  const { value, texts } = await streamForm(parse, request, shape, async ({ content, ...file }) => ({
    ...file,
    bytes: await collect(content, declared),
  }));
  return { ...value, texts };
};
