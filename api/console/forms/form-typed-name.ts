import type { Operations } from '../../http/operation.ts';
import type { Child } from '../parts/tags.ts';
import type { Visit } from '../visit.ts';
import { errorMap, type FieldErrors } from './form-errors.ts';
import { fieldView } from './form-fields.ts';
import { askSubject } from './form-read.ts';

/** The operations in whose forms the name of the object must be typed, because what they remove cannot be restored. */
const TYPED: readonly string[] = ['eraseTenant'];

/** The name of the form field with the typed name. */
export const TYPED_NAME = '_name';

/** Renders the field for the name; null if the operation needs none. */
export const typedNameField = (operation: string, typed: string, errors: FieldErrors): Child =>
  TYPED.includes(operation)
    ? fieldView(
        {
          ...{ kind: 'text', input: 'text', pointer: '', name: TYPED_NAME, label: 'Its name', help: 'Type the name to confirm.' },
          ...{ isRequired: true, isNullable: false, isSecret: false, fallback: undefined, placeholder: null },
          ...{ min: 1, max: null, pattern: null, look: {} },
        },
        { at: TYPED_NAME, value: typed, errors: errorMap(errors), choices: {} },
      )
    : null;

type Place = Parameters<typeof askSubject>[2] & { readonly visit: Visit; readonly operation: string };

const sameText = (one: string, other: string): boolean => one.normalize('NFC').trim() === other.normalize('NFC').trim();

/**
 * Checks the typed name of the object. Returns no error if the operation needs none, or if the object is gone: the API
 * then answers, because an earlier request may have removed it, and a repeat gets the same reply.
 */
export const typedNameErrors = async (
  { visit, operation, ...place }: Place,
  operations: Operations,
  typed: string,
): Promise<FieldErrors> => {
  if (!TYPED.includes(operation)) return [];
  const read = await askSubject(visit, operations, place);
  if (read?.answer.status === 404) return [];
  if (read?.answer.ok && read.name !== null)
    return sameText(typed, read.name) ? [] : [{ pointer: TYPED_NAME, message: `must be the name, which is ${read.name}` }];
  const reason = read && !read.answer.ok ? ` The reason: ${read.answer.problem.detail}` : '';
  return [{ pointer: '', message: `The name to compare with cannot be read, so nothing was sent. Try again.${reason}` }];
};
