import { invalid } from '../../refusal.ts';

/**
 * Matches the names of headers that say how the request itself is sent. They never have a signature, a time or an id of
 * a provider.
 */
const RESERVED =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-(?:length|type|encoding)|expect|date|accept.*|user-agent|proxy-.*|set-cookie|cookie)$/i;

export const checkHeader = (pointer: string, name: string | undefined): void => {
  if (name !== undefined && RESERVED.test(name)) throw invalid(pointer, `cannot be ${name}: this header says how the request is sent`);
};

export const checkPointer = (pointer: string, source: string): void => {
  if (/^\/.*~(?![01])/.test(source)) throw invalid(pointer, 'must be a JSON pointer, in which ~0 stands for ~ and ~1 for /');
};

/** Checks where a delivery id is: in a header that senders can set, or a JSON pointer. @throws Refusal invalid if not */
export const checkIdSource = (pointer: string, source: string): void => {
  checkHeader(pointer, source);
  checkPointer(pointer, source);
};
