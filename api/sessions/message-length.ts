import { counted } from '../../domain/counted.ts';
import { MAX_SENT_BYTES } from '../../domain/sessions/sent-fields.ts';

/** Says what is wrong with the length of a message of a person to a runner, as the API would refuse it; null if nothing is. */
export const lengthError = (text: string): { readonly code: string; readonly message: string } | null => {
  if (text === '') return { code: 'too_short', message: 'is missing' };
  const size = Buffer.byteLength(JSON.stringify(text));
  if (size <= MAX_SENT_BYTES) return null;
  return {
    code: 'too_long',
    message: `has ${counted(size, 'byte')} as JSON, and at most ${MAX_SENT_BYTES} are sent: add the text as a file`,
  };
};
