import { createHmac, randomBytes } from 'node:crypto';
import { counted } from '../../domain/counted.ts';
import { isId25 } from '../../domain/id.ts';
import { type Table, tenantColumnOf } from '../../projections/table.ts';

/** Replaces the texts in a JSON value. */
export type MaskTexts = (value: unknown) => unknown;

const MARK_LENGTH = 6;

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|\+00:00)$/;

/**
 * Creates a function that replaces each text in a JSON value by its length and a mark, such as `[12 characters,
 * 3fa9c1]`. Ids, times, numbers and the names of fields stay. If the same function masks equal texts, they get equal
 * marks. The marks depend on a random key, so that nobody can find a text by trying.
 */
export const createTextMask = (): MaskTexts => {
  const key = randomBytes(32);
  const maskText = (text: string): string => {
    if (isId25(text) || TIME.test(text)) return text;
    const mark = createHmac('sha256', key).update(text).digest('hex').slice(0, MARK_LENGTH);
    return `[${counted(text.length, 'character')}, ${mark}]`;
  };
  const mask: MaskTexts = (value) => {
    if (typeof value === 'string') return maskText(value);
    if (Array.isArray(value)) return value.map(mask);
    if (typeof value !== 'object' || value === null || value instanceof Date) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mask(one)]));
  };
  return mask;
};

const keepTexts: MaskTexts = (value) => value;

/**
 * Returns the mask for the rows of a table. Operators see the texts of tenants only through the tenants' own
 * operations, which need break-glass access and record each read. Rows of the platform are not masked.
 */
export const maskFor = (table: Table | undefined, mask: MaskTexts): MaskTexts =>
  table && tenantColumnOf({ ...table, isKeptAfterErasure: false }) === null ? keepTexts : mask;
