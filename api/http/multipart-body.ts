import { parseContentType } from '../../domain/content-type.ts';
import { sha256Counter } from '../../domain/digest.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { shownValue } from '../../domain/shown-value.ts';
import { assertNotEncoded, rejectTruncated } from './json-body.ts';

/** The maximum number of bytes of a body apart from the content of its file: delimiters, part headers and texts. */
const MAX_OVERHEAD_BYTES = 16_384;
const MAX_PARTS = 10;
/** The minimum average rate at which a body must arrive, after the first GRACE_SECONDS. */
const MIN_BYTES_PER_SECOND = 65_536;
const GRACE_SECONDS = 10;
const CHECK_INTERVAL_MS = 1_000;

/** A part of a form that has a filename. Its content can be read only once, while it arrives. */
export type FormFile = {
  readonly name: string;
  readonly filename: string;
  readonly contentType: string;
  readonly content: AsyncIterable<Uint8Array>;
};

type FormLimits = { readonly boundary: string; readonly maxFileBytes: number; readonly maxParts: number; readonly signal: AbortSignal };

/**
 * The callbacks of `ParseForm`. If there are too many parts, `onText` is called with null as the name. If a callback
 * throws, parsing ends.
 */
type FormHandlers = {
  readonly onFile: { readonly start: (file: FormFile) => void; readonly tooLarge: () => void };
  readonly onText: (name: string | null, value: string) => void;
};

/**
 * Parses a form whose parts are separated by `boundary`. Resolves after the whole form has been parsed and its files
 * have been read. If parsing fails or `signal` is aborted, reading the content of a file fails, too.
 * @throws Refusal malformed, the errors of the callbacks and of `body`, and the reason of the signal
 */
export type ParseForm = (body: AsyncIterable<Uint8Array>, limits: FormLimits, handlers: FormHandlers) => Promise<void>;

const BOUNDARY = /^[^"\\\r\n]{1,70}$/;

/**
 * Returns the boundary in the Content-Type of a form.
 * @throws Refusal unsupported_media_type if the body is not multipart/form-data, malformed if it has no boundary
 */
const boundaryIn = (type: string): string => {
  const { type: mediaType, parameters } = parseContentType(type);
  if (mediaType !== 'multipart/form-data')
    throw new Refusal('unsupported_media_type', `The body must be multipart/form-data; its content type is ${shownValue(type)}`);
  const boundary = parameters.find(([name]) => name === 'boundary')?.[1] ?? '';
  if (!BOUNDARY.test(boundary)) throw new Refusal('malformed', 'The Content-Type must name a boundary of 1 to 70 characters');
  return boundary;
};

const tooLarge = (maxBytes: number): Refusal =>
  new Refusal('too_large', `The file may have at most ${maxBytes} bytes`, { members: { limit: maxBytes } });

/**
 * Yields the bytes of a body, and ends with an error if the client sends too slowly. Only the time during which the
 * server waits for bytes counts.
 * @throws Refusal too_large as soon as there are more than `limit` bytes, too_slow, malformed if the body breaks off
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
 * Yields the content of a file. Ends only after the whole form has been found valid, and throws the reason if the form
 * is refused. If reading the content fails, calls `onFault`, and then throws the reason why the form was refused or, if
 * it was not refused, the read error.
 */
async function* untilValid(content: AsyncIterable<Uint8Array>, valid: Promise<void>, onFault: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    onFault();
    // If the form was refused, this throws the reason, which says more than the read error.
    await valid;
    throw error;
  }
  await valid;
}

/**
 * The parts that a form may have: the name of its file, the names of its optional texts, and the maximum size of the
 * file in bytes.
 */
export type FormShape = { readonly file: string; readonly texts?: readonly string[]; readonly maxBytes: number };

/**
 * A form whose file is optional. `check` throws if required parts are missing. It is called before the consumer of the
 * file gets the end of the content.
 */
type CheckedFormShape = FormShape & { readonly check: (texts: Readonly<Record<string, string>>, hasFile: boolean) => void };

/**
 * A file as the client describes it. The name can contain any characters, and the type can be wrong. If the form turns
 * out to be invalid, reading the content throws instead of ending.
 */
export type StreamedFile = { readonly filename: string; readonly contentType: string | null; readonly content: AsyncIterable<Uint8Array> };

/** Creates the callbacks for the parts of a form. `start` is called with the file of the form. */
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

/** What was read from a form. `value` is the result of consuming its file. */
type ReadForm<T> = { readonly value: T; readonly texts: Readonly<Record<string, string>> };

/**
 * Reads a multipart/form-data body with texts and at most one file. While the file arrives, `consume` reads its
 * content. Without a file, `value` is null.
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
    // If the consumer fails, it stops reading, and the form seems to be malformed. Throw the consumer's error in this
    // case.
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

/** A file of a form, completely in memory. `sha256` is its digest in hex. */
export type UploadedFile = Omit<StreamedFile, 'content'> & { readonly bytes: Uint8Array; readonly sha256: string };

/**
 * Collects a content in one buffer, whose initial size is `expected`. The digest is calculated while the content
 * arrives, because the digest of a large file at its end would delay other requests.
 */
const collect = async (
  content: AsyncIterable<Uint8Array>,
  expected: number,
): Promise<{ readonly bytes: Uint8Array; readonly sha256: string }> => {
  const digest = sha256Counter();
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
    digest.add(bytes);
  }
  return { bytes: buffer.subarray(0, size), sha256: digest.result() };
};

/** Reads a form whose file is required, and loads the file into memory (see `streamForm`). */
export const readForm = async (
  parse: ParseForm,
  request: Request,
  shape: FormShape,
): Promise<UploadedFile & { readonly texts: Readonly<Record<string, string>> }> => {
  const declared = Math.min(Number(request.headers.get('content-length')) || 65_536, shape.maxBytes);
  const { value, texts } = await streamForm(parse, request, shape, async ({ content, ...file }) => ({
    ...file,
    ...(await collect(content, declared)),
  }));
  return { ...value, texts };
};
