import { Busboy, type BusboyFileStream } from '@fastify/busboy';
import type { ParseForm } from '../../api/http/multipart-body.ts';
import { Refusal } from '../../domain/refusal.ts';

const MAX_HEADER_BYTES = 8_192;
/** A longer text is cut. Every text field has a smaller limit, so the handler refuses a text that was cut. */
const MAX_TEXT_BYTES = 4_096;

const malformed = (): Refusal => new Refusal('malformed', 'The body is not valid multipart/form-data');

/** Browsers encode line breaks and quotes in names (HTML standard, multipart/form-data encoding algorithm). */
const plainName = (name: string): string =>
  name.replace(/%(0A|0D|22)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

const createDelimiterCounter = (boundary: string) => {
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first delimiter may be at the very start, without a line break before it.
  let tail = Buffer.from('\r\n');
  let count = 0;
  return (chunk: Uint8Array): number => {
    const text = Buffer.concat([tail, chunk]);
    for (let at = text.indexOf(delimiter); at >= 0; at = text.indexOf(delimiter, at + delimiter.length)) count++;
    tail = text.subarray(-(delimiter.length - 1));
    return count;
  };
};

/** The file is never in memory as a whole. */
export const parseForm: ParseForm = async (body, { boundary, maxFileBytes, maxParts, signal }, { onFile, onText }) => {
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  done.catch(() => {});
  const files: BusboyFileStream[] = [];
  const countDelimiters = createDelimiterCounter(boundary);
  let [delimiters, parts] = [0, 0];
  const parser = new Busboy({
    headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    preservePath: true,
    isPartAFile: (_, __, filename) => filename !== undefined,
    limits: { fileSize: maxFileBytes, fieldSize: MAX_TEXT_BYTES, headerPairs: 20, headerSize: MAX_HEADER_BYTES },
  });
  const handle = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      reject(error);
    }
  };
  parser.on('file', (name, file, filename, _, contentType) => {
    parts++;
    files.push(file);
    file.on('error', () => reject(malformed()));
    handle(() => {
      if ((name as string | undefined) === undefined) throw malformed();
      file.on('limit', () => handle(() => onFile.tooLarge()));
      onFile.start({ name, filename: plainName(filename), contentType, content: file });
    });
  });
  parser.on('field', (name, value) => {
    parts++;
    handle(() => {
      if ((name as string | undefined) === undefined) throw malformed();
      onText(name, value);
    });
  });
  parser.on('error', () => reject(malformed()));
  parser.on('finish', () => resolve());
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    for await (const chunk of body) {
      delimiters = countDelimiters(chunk);
      if (delimiters - 1 > maxParts) onText(null, '');
      // While the parser's buffer is full, `write` calls back only after more of the file is read.
      await Promise.race([done, new Promise<void>((written) => parser.write(chunk, () => written()))]);
      signal.throwIfAborted();
    }
    parser.end();
    await done;
    // The parser skips parts without a name, so they are fewer than the delimiters (without the last one, the end).
    if (parts < delimiters - 1) throw malformed();
  } catch (error) {
    for (const file of files) file.destroy(error as Error);
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
};
