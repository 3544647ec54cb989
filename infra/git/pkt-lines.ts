export type PktLines = {
  readonly bytes: Uint8Array;
  /** Whether there are more lines than the limit. If so, `bytes` ends after the last line within the limit. */
  readonly hasMore: boolean;
  /** Whether `bytes` are valid lines that end with a flush packet, as a complete answer does. */
  readonly isComplete: boolean;
};

const PREFIX_BYTES = 4;
const FLUSH = 0;
const FIRST_LENGTH_WITH_CONTENT = 4;

/** Returns bytes; -1 if the line is not valid; null if the bytes with its length have not arrived yet. */
const lengthAt = (bytes: Buffer, offset: number): number | null => {
  if (bytes.length - offset < PREFIX_BYTES) return null;
  const prefix = bytes.toString('latin1', offset, offset + PREFIX_BYTES);
  const length = /^[0-9a-f]{4}$/i.test(prefix) ? Number.parseInt(prefix, 16) : -1;
  return length === 2 || length === 3 ? -1 : length;
};

/** Reads the lines while the answer arrives. */
const createWalk = (maxLines: number) => {
  let rest: Buffer = Buffer.alloc(0);
  let lines = 0;
  let isValid = true;
  let endsWithFlush = false;
  const parts: Buffer[] = [];

  /** Returns whether further bytes are needed. */
  const add = (chunk: Uint8Array): boolean => {
    const bytes = Buffer.concat([rest, chunk]);
    let offset = 0;
    for (let length = lengthAt(bytes, offset); length !== null; length = lengthAt(bytes, offset)) {
      isValid = length >= 0;
      const size = Math.max(length, PREFIX_BYTES);
      if (!isValid || bytes.length - offset < size) break;
      if (length >= FIRST_LENGTH_WITH_CONTENT && ++lines > maxLines) break;
      endsWithFlush = length === FLUSH;
      offset += size;
    }
    parts.push(bytes.subarray(0, offset));
    rest = bytes.subarray(offset);
    return isValid && lines <= maxLines;
  };

  const result = (): PktLines => {
    const hasMore = lines > maxLines;
    return { bytes: Buffer.concat(parts), hasMore, isComplete: isValid && !hasMore && endsWithFlush && rest.length === 0 };
  };
  return { add, result };
};

/** Stops at the first invalid line. Check `isComplete`: a library that parses `bytes` does not notice a cut-off answer. */
export const readPktLines = async (body: AsyncIterable<Uint8Array>, maxLines: number): Promise<PktLines> => {
  const { add, result } = createWalk(maxLines);
  for await (const chunk of body) if (!add(chunk)) break;
  return result();
};
