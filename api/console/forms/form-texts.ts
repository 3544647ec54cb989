/** The start of a form with more bytes than this before its file is passed on as it is. */
const MAX_TEXT_BYTES = 256 << 10;

/**
 * The text fields before the file of a form, by name, and the form without them. `skipped` is how many bytes were left
 * out. `isTooLong` says that the texts have more bytes than are read: then `texts` is empty.
 */
export type SplitForm = {
  readonly texts: ReadonlyMap<string, string>;
  readonly rest: ReadableStream<Uint8Array>;
  readonly skipped: number;
  readonly isTooLong: boolean;
  /** Separates the parts of the form; empty if it has none. */
  readonly boundary: string;
};

type Found = { readonly texts: ReadonlyMap<string, string>; readonly at: number };

/** Finds the part with the file. Returns null as long as more bytes are needed. */
const findFile = (bytes: Buffer, boundary: string): Found | null => {
  const texts = new Map<string, string>();
  for (let at = 0; ; ) {
    const headEnd = bytes.indexOf('\r\n\r\n', at);
    if (headEnd < 0) return null;
    const head = bytes.toString('utf8', at, headEnd);
    if (!head.startsWith(`--${boundary}\r\n`) || /;\s*filename\*?=/i.test(head)) return { texts, at };
    const next = bytes.indexOf(`\r\n--${boundary}`, headEnd + 4);
    if (next < 0) return null;
    texts.set(/;\s*name="([^"]*)"/i.exec(head)?.[1] ?? '', bytes.toString('utf8', headEnd + 4, next));
    at = next + 2;
  }
};

/** Reads the text fields that a multipart form has before its file. The file is not read. */
export const splitForm = async (body: ReadableStream<Uint8Array>, contentType: string): Promise<SplitForm> => {
  const boundary = /;\s*boundary="?([^";]+)"?/i.exec(contentType)?.[1] ?? '';
  const reader = body.getReader();
  let bytes: Buffer = Buffer.alloc(0);
  let found: Found | null = null;
  for (let isOver = boundary === ''; !found && !isOver && bytes.length <= MAX_TEXT_BYTES; ) {
    const { value, done } = await reader.read();
    isOver = done;
    if (value) bytes = Buffer.concat([bytes, value]);
    found = findFile(bytes, boundary);
  }
  const { texts, at } = found ?? { texts: new Map<string, string>(), at: 0 };
  const rest = new ReadableStream<Uint8Array>({
    start: (controller) => (at < bytes.length ? controller.enqueue(bytes.subarray(at)) : undefined),
    pull: async (controller) => {
      const { value, done } = await reader.read();
      if (value) controller.enqueue(value);
      if (done) controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { texts, rest, skipped: at, isTooLong: found === null && bytes.length > MAX_TEXT_BYTES, boundary };
};
