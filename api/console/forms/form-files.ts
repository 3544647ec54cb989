import type { SplitForm } from './form-texts.ts';

/** The longest head of a part of a form that is read, in bytes. */
const MAX_HEAD_BYTES = 16 << 10;

/** A file of a form, as its own form with the same boundary. It must be read to its end before the next one. */
export type FormFile = ReadableStream<Uint8Array>;

type Source = { readonly reader: ReadableStreamDefaultReader<Uint8Array>; bytes: Buffer; isOver: boolean };

const readMore = async (source: Source): Promise<void> => {
  const { value, done } = await source.reader.read();
  source.isOver = done;
  if (value) source.bytes = Buffer.concat([source.bytes, value]);
};

/** Returns the head of the part with which the bytes begin; null at the end of the form. */
const readHead = async (source: Source, boundary: string): Promise<string | null> => {
  for (;;) {
    const start = source.bytes.toString('latin1', 0, boundary.length + 4);
    if (start === `--${boundary}--`) return null;
    const end = source.bytes.indexOf('\r\n\r\n');
    if (end >= 0) return source.bytes.toString('utf8', 0, end);
    if (source.isOver || source.bytes.length > MAX_HEAD_BYTES) return null;
    await readMore(source);
  }
};

/** Reads the bytes of a part up to the next one, as far as they have arrived. Null at the end of the part. */
const readContent = async (source: Source, next: string): Promise<Buffer | null> => {
  for (;;) {
    const end = source.bytes.indexOf(next);
    const length = end >= 0 ? end : source.isOver ? source.bytes.length : source.bytes.length - next.length;
    if (length > 0) {
      const content = source.bytes.subarray(0, length);
      source.bytes = source.bytes.subarray(length);
      return content;
    }
    if (end === 0 || source.isOver) return null;
    await readMore(source);
  }
};

const formOf = (source: Source, boundary: string): FormFile =>
  new ReadableStream({
    pull: async (controller) => {
      const content = await readContent(source, `\r\n--${boundary}`);
      if (content) return controller.enqueue(content);
      controller.enqueue(Buffer.from(`\r\n--${boundary}--\r\n`));
      source.bytes = source.bytes.subarray(2);
      controller.close();
    },
  });

const drained = async (form: FormFile): Promise<void> => {
  for await (const _ of form);
};

/**
 * Yields the files of a form one by one, while they arrive. Fields without a file are left out. When the caller stops,
 * the rest of the form is not read.
 */
export async function* filesOf({ rest, boundary }: Pick<SplitForm, 'rest' | 'boundary'>): AsyncGenerator<FormFile, void> {
  const source: Source = { reader: rest.getReader(), bytes: Buffer.alloc(0), isOver: boundary === '' };
  try {
    for (let head = await readHead(source, boundary); head !== null; head = await readHead(source, boundary)) {
      const form = formOf(source, boundary);
      if (/;\s*filename="[^"]/i.test(head)) yield form;
      else await drained(form);
    }
  } finally {
    await source.reader.cancel();
  }
}
