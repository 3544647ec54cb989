import { counted } from '../counted.ts';
import { firstHeader, type SignatureScheme, type SignedRequest } from './conventions/signature-scheme.ts';
import { anyHeader } from './header-name.ts';
import { MAX_HEADER_LENGTH, MAX_SIGNATURES, parseSignatures, SIGNATURE_BYTES, signatureTexts, timestampOf } from './signature.ts';

/** Returns the form of one signature, for people. */
const formOf = ({ prefix = '', encoding, algorithm, separator, shape }: SignatureScheme): string => {
  if (algorithm === 'token') return 'be the secret';
  const size = SIGNATURE_BYTES[algorithm];
  const allowsUpperCase = shape.test(`${prefix}${'A'.repeat(size * 2)}`);
  const hex = `${counted(size * 2, 'hexadecimal digit')}${allowsUpperCase ? '' : ' in lower case'}`;
  const digits = encoding === 'hex' ? hex : `the Base64 of ${counted(size, 'byte')}`;
  return `${separator === undefined ? 'be' : 'contain'} ${prefix === '' ? '' : `${prefix} and `}${digits}`;
};

/** Null if the signatures can be read. */
const headerFault = (scheme: SignatureScheme, header: string): string | null => {
  if (parseSignatures(scheme, header).length > 0) return null;
  const name = `The header ${anyHeader(scheme.headers)}`;
  if (header.length > MAX_HEADER_LENGTH) return `${name} must not be longer than ${MAX_HEADER_LENGTH} characters`;
  if (signatureTexts(scheme, header).length > MAX_SIGNATURES) return `${name} must not have more than ${MAX_SIGNATURES} signatures`;
  return `${name} must ${formOf(scheme)}`;
};

/** Says if the signature has another form or algorithm, or if its time is not a number. Null if the signatures can be read. */
export const signatureFormFault = (scheme: SignatureScheme, request: SignedRequest): string | null => {
  const header = firstHeader(request, scheme.headers);
  if (!header) return scheme.otherwise ? signatureFormFault(scheme.otherwise, request) : null;
  const fault = headerFault(scheme, header);
  const { timestamp } = scheme;
  if (fault) return fault;
  if (!timestamp || timestampOf(timestamp, request) !== null) return null;
  return `The header ${anyHeader(timestamp.headers)} must contain the time of signing in seconds since 1970`;
};
