import type { z } from 'zod';
import { type FieldError, Refusal } from '../../domain/refusal.ts';
import { issueMessage } from './issue-message.ts';

const MAX_FIELD_ERRORS = 50;

/**
 * Where a validated value comes from. `root` is the prefix of the JSON pointers in field errors. `fixedFields` are
 * fields that the resource has and that this request cannot change.
 */
type Origin = { readonly root?: '' | '/query'; readonly fixedFields?: Readonly<Record<string, unknown>> };

const pointer = (root: string, path: readonly PropertyKey[]): string =>
  root + path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

const unknownFieldMessage = (name: string, { root, fixedFields = {} }: Origin, depth: number): string => {
  if (root === '/query') return 'is not a query parameter of this operation';
  return depth === 0 && Object.hasOwn(fixedFields, name) ? 'cannot be changed' : 'is not a field of this request';
};

const fieldErrorsOf = (error: z.core.$ZodError, origin: Origin): FieldError[] =>
  error.issues.flatMap((issue) => {
    const { root = '' } = origin;
    if (issue.code !== 'unrecognized_keys') return [{ pointer: pointer(root, issue.path), code: issue.code, message: issue.message }];
    return issue.keys.map((key) => ({
      pointer: pointer(root, [...issue.path, key]),
      code: 'unknown_field',
      message: unknownFieldMessage(key, origin, issue.path.length),
    }));
  });

/** Converts a zod error to a refusal. It contains at most 50 field errors. */
export const refusalFrom = (error: z.core.$ZodError, origin: Origin): Refusal => {
  const errors = fieldErrorsOf(error, origin).slice(0, MAX_FIELD_ERRORS);
  return new Refusal('invalid', errors[0] ? `${errors[0].pointer || 'the body'}: ${errors[0].message}` : 'The request is not valid', {
    errors,
  });
};

/** Parses a value with a schema. @throws Refusal invalid */
export const parseOrRefuse = <T extends z.ZodType>(schema: T, value: unknown, origin: Origin = {}): z.output<T> => {
  const result = schema.safeParse(value, { error: issueMessage });
  if (result.success) return result.data;
  throw refusalFrom(result.error, origin);
};
