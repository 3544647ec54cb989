import type { z } from 'zod';

const MAX_LISTED_VALUES = 20;

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
};

const UNITS: Readonly<Record<string, string>> = { string: 'character', array: 'item', object: 'field' };

type SizeIssue = { readonly origin: string; readonly inclusive?: boolean | undefined };

/** Returns the message for a value that is too small (`bound` is `at least`) or too large (`at most`). */
const sizeMessage = (bound: 'at least' | 'at most', limit: number | bigint, { origin, inclusive = true }: SizeIssue): string => {
  const unit = UNITS[origin];
  if (unit) return `must have ${bound} ${limit} ${unit}${Number(limit) === 1 ? '' : 's'}`;
  const exclusive = bound === 'at least' ? 'more than' : 'less than';
  return `must be ${inclusive ? bound : exclusive} ${limit}`;
};

const valuesMessage = (values: readonly unknown[]): string => {
  const listed = values.slice(0, MAX_LISTED_VALUES).map(String).join(', ');
  if (values.length === 1) return `must be ${listed}`;
  return `must be one of ${listed}${values.length > MAX_LISTED_VALUES ? ' …' : ''}`;
};

/** Returns the text of this API for an invalid value in a request; undefined if zod's own text is to be used. */
export const issueMessage: z.core.$ZodErrorMap = (issue) => {
  // JSON has no undefined values, so an undefined value means that the field is missing.
  if (issue.input === undefined && (issue.code === 'invalid_type' || issue.code === 'invalid_value')) return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return sizeMessage('at least', issue.minimum, issue);
    case 'too_big':
      return sizeMessage('at most', issue.maximum, issue);
    case 'invalid_value':
      return valuesMessage(issue.values);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return `must have the form of ${issue.format === 'regex' ? issue.pattern : issue.format}`;
    case 'invalid_union':
      return 'has none of the forms that this field may have';
    case 'invalid_key':
      return 'contains a name that is not allowed';
    case 'invalid_element':
      return 'contains a value that is not allowed';
    default:
      return undefined;
  }
};
