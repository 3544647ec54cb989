import { invalid } from '../../refusal.ts';

/** Headers that say how the request is sent never have a provider's signature, time or id. */
const RESERVED =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-(?:length|type|encoding)|expect|date|accept.*|user-agent|proxy-.*|set-cookie|cookie)$/i;

export const checkHeader = (pointer: string, name: string | undefined): void => {
  if (name !== undefined && RESERVED.test(name)) throw invalid(pointer, `cannot be ${name}: this header says how the request is sent`);
};

export const checkPointer = (pointer: string, source: string): void => {
  if (/^\/.*~(?![01])/.test(source)) throw invalid(pointer, 'must be a JSON pointer, in which ~0 stands for ~ and ~1 for /');
};

/** A header that senders can set, or a JSON pointer. @throws Refusal invalid if not */
export const checkIdSource = (pointer: string, source: string): void => {
  checkHeader(pointer, source);
  checkPointer(pointer, source);
};
