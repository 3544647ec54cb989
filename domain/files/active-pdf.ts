const ACTIVE_NAME = /\/(?:JavaScript|JS|Launch|EmbeddedFile|RichMedia|XFA|OpenAction|AA|SubmitForm|ImportData)(?![A-Za-z])/;
const WINDOW_BYTES = 65_536;
/** Windows overlap by this many bytes, more than a name has. So no name is split, and the byte after it is known. */
const OVERLAP_BYTES = 64;
const HASH = 0x23;

const hexDigit = (byte = 0): number => {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
};

/** Returns the byte that the escape at this index stands for: `#` and two hex digits. Returns -1 if there is none. */
const escapedByte = (bytes: Uint8Array, at: number): number => {
  if (bytes[at] !== HASH) return -1;
  const [high, low] = [hexDigit(bytes[at + 1]), hexDigit(bytes[at + 2])];
  return high < 0 || low < 0 ? -1 : high * 16 + low;
};

/**
 * Returns the first name in a PDF file with which it can run scripts or open other files; null if there is none. Names
 * can have escaped characters. The file is read in windows, so the memory that is needed does not grow with the file.
 */
export const activePdfName = (bytes: Uint8Array): string | null => {
  const plain = Buffer.allocUnsafe(WINDOW_BYTES);
  let size = 0;
  for (let at = 0; at < bytes.length; at++) {
    const escaped = escapedByte(bytes, at);
    plain[size++] = escaped < 0 ? bytes[at]! : escaped;
    if (escaped >= 0) at += 2;
    const isLast = at >= bytes.length - 1;
    if (size < WINDOW_BYTES && !isLast) continue;
    const found = ACTIVE_NAME.exec(plain.toString('latin1', 0, size));
    // A name in the overlap is found again in the next window.
    if (found && (isLast || found.index < size - OVERLAP_BYTES)) return found[0];
    plain.copyWithin(0, size - OVERLAP_BYTES, size);
    size = OVERLAP_BYTES;
  }
  return null;
};
