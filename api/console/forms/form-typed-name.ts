import type { Operations } from '../../http/operation.ts';
import type { Child } from '../parts/tags.ts';
import type { Visit } from '../visit.ts';
import { errorMap, type FieldErrors } from './form-errors.ts';
import { fieldView } from './form-fields.ts';
import { readSubject } from './form-read.ts';

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

type Place = Parameters<typeof readSubject>[2] & { readonly visit: Visit; readonly operation: string };

const sameText = (one: string, other: string): boolean => one.normalize('NFC').trim() === other.normalize('NFC').trim();

/** Checks the typed name of the object. Returns no error if the operation needs none. */
export const typedNameErrors = async (
  { visit, operation, ...place }: Place,
  operations: Operations,
  typed: string,
): Promise<FieldErrors> => {
  if (!TYPED.includes(operation)) return [];
  const subject = await readSubject(visit, operations, place);
  if (subject === null) return [{ pointer: '', message: 'The name to compare with cannot be read. Nothing was changed; try again.' }];
  return sameText(typed, subject) ? [] : [{ pointer: TYPED_NAME, message: `must be the name, which is ${subject}` }];
};
