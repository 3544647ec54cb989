import { counted } from '../counted.ts';
import { firstHeader, type SignatureScheme, type SignedRequest } from './conventions/signature-scheme.ts';
import { anyHeader } from './header-name.ts';
import { parseSignatures, SIGNATURE_BYTES, timestampOf } from './signature.ts';

/** Returns the form of one signature, as a text for people. */
const formOf = ({ prefix = '', encoding, algorithm, separator }: SignatureScheme): string => {
  const size = algorithm === 'token' ? 0 : SIGNATURE_BYTES[algorithm];
  const digits = encoding === 'hex' ? `${counted(size * 2, 'hexadecimal digit')} in lower case` : `the Base64 of ${counted(size, 'byte')}`;
  return `${separator === undefined ? 'be' : 'contain'} ${prefix === '' ? '' : `${prefix} and `}${digits}`;
};

/**
 * Returns what is wrong with the form of the headers from which the signature of a request is read: a signature in
 * another form or of another algorithm, or a time that is no number. Null if they can be read.
 */
export const signatureFormFault = (scheme: SignatureScheme, request: SignedRequest): string | null => {
  const header = firstHeader(request, scheme.headers);
  if (!header) return scheme.otherwise ? signatureFormFault(scheme.otherwise, request) : null;
  if (parseSignatures(scheme, header).length === 0) return `The header ${anyHeader(scheme.headers)} must ${formOf(scheme)}`;
  const { timestamp } = scheme;
  if (!timestamp || timestampOf(timestamp, request) !== null) return null;
  return `The header ${anyHeader(timestamp.headers)} must contain the time of signing in seconds since 1970`;
};
