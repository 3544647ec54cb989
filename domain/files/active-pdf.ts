const ACTIVE_NAME = /\/(?:JavaScript|JS|Launch|EmbeddedFile|RichMedia|XFA|OpenAction|AA|SubmitForm|ImportData)(?![A-Za-z])/;
const WINDOW_BYTES = 65_536;
/** Longer than a name, so that no name is split between windows, and the byte after it is known. */
const OVERLAP_BYTES = 64;
const HASH = 0x23;

const hexDigit = (byte = 0): number => {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
};

/** `#` and two hex digits; -1 if there is no escape. */
const escapedByte = (bytes: Uint8Array, at: number): number => {
  if (bytes[at] !== HASH) return -1;
  const [high, low] = [hexDigit(bytes[at + 1]), hexDigit(bytes[at + 2])];
  return high < 0 || low < 0 ? -1 : high * 16 + low;
};

/**
 * The first name with which a PDF file can run scripts or open other files; names can have escaped characters. Reads in windows, so the
 * memory does not grow with the file.
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
