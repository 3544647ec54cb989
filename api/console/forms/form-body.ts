import { escapedName, type Field, type Form } from './form.ts';
import type { FormLayout } from './form-layout.ts';
import { chosenParts } from './form-layouts.ts';
import { base64Of, instantOf, slugOf, textOf, unitField, unitsOf, ZONE_FIELD } from './form-values.ts';

/** The fields of a submitted form. The same name can occur several times. */
export type Submitted = Pick<URLSearchParams, 'get' | 'getAll' | 'keys' | 'has'>;

/** The body that was read from a form, and the errors about fields that could not be read. */
export type FormBody = {
  readonly value: unknown;
  readonly errors: readonly { readonly pointer: string; readonly message: string }[];
};

type Json = Readonly<Record<string, unknown>>;

type Errors = { pointer: string; message: string }[];

const normalized = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll('\r', '\n');

/**
 * Returns what to send for a field that the visitor left empty. If it was already empty when the form was rendered, the
 * result is its unchanged value; undefined means that it is not sent. Otherwise, the result removes the old value.
 */
const emptied = ({ isNullable, isRequired }: Field, drawn: unknown, empty: unknown): unknown => {
  if (drawn === undefined) return isRequired ? (isNullable ? null : empty) : undefined;
  if (drawn === null) return null;
  return isNullable ? null : empty;
};

/** Returns the values of a field in which several can be chosen or, separated by spaces or commas, typed. */
const severalIn = (submitted: Submitted, at: string): readonly string[] => [
  ...new Set(submitted.getAll(at).flatMap((text) => text.split(/[\s,]+/).filter((one) => one !== ''))),
];

const readSeveral = (field: Field, submitted: Submitted, at: string): unknown => {
  const values = severalIn(submitted, at);
  return values.length > 0 ? values : emptied(field, undefined, '');
};

const readText = (field: Field & { kind: 'text' }, submitted: Submitted, { at, drawn }: Reading): unknown => {
  if (field.look.isSeveral) return readSeveral(field, submitted, at);
  const shown = normalized(submitted.get(at) ?? '');
  const zone = submitted.get(ZONE_FIELD) ?? 'UTC';
  // Line ends are not compared, because browsers change them.
  if (typeof drawn === 'string' && normalized(textOf(field, drawn, zone)) === shown) return drawn;
  if (shown === '') return emptied(field, drawn, '');
  if (drawn === undefined && !field.isRequired && shown === field.fallback) return undefined;
  if (field.input === 'time') return instantOf(shown, zone);
  return field.input === 'bytes' && !submitted.has(`_coded${at}`) ? base64Of(shown) : shown;
};

/** Returns the size of the chosen unit, in units of the API. */
const sizeOfUnit = ({ unit }: Field & { kind: 'number' }, chosen: string | null): number =>
  unitsOf(unit).find(([name]) => name === chosen)?.[1] ?? 1;

/** Removes the error of a product of decimals. No unit has more than six decimals. */
const rounded = (value: number): number => Math.round(value * 1e6) / 1e6;

const readNumber = (field: Field & { kind: 'number' }, submitted: Submitted, { at, drawn }: Reading, text = submitted.get(at)): unknown => {
  const shown = (text ?? '').trim();
  if (shown === '') return emptied(field, drawn, undefined);
  const size = sizeOfUnit(field, submitted.get(unitField(at)));
  const number = size === 1 ? Number(shown) : rounded(Number(shown) * size);
  if (!Number.isFinite(number)) return shown;
  return drawn === undefined && !field.isRequired && number === field.fallback ? undefined : number;
};

const readChoice = (field: Field, text: string | null, drawn: unknown): unknown => {
  if (!text) return emptied(field, drawn, undefined);
  return drawn === undefined && !field.isRequired && text === field.fallback ? undefined : text;
};

const readBoolean = (field: Field, texts: readonly string[], drawn: unknown): unknown => {
  const last = texts.at(-1);
  if (last === undefined || last === '') return emptied(field, drawn, undefined);
  const value = last === 'true';
  return !field.isRequired && drawn === undefined && value === field.fallback ? undefined : value;
};

const readJson = (field: Field, text: string | null, drawn: unknown, errors: Errors): unknown => {
  const shown = (text ?? '').trim();
  if (shown === '') return emptied(field, drawn, undefined);
  try {
    return JSON.parse(shown);
  } catch {
    errors.push({ pointer: field.pointer, message: 'is not JSON' });
    return shown;
  }
};

const readList = (field: Field, items: readonly unknown[], drawn: unknown): unknown => {
  if (items.length > 0) return items;
  if (drawn === undefined) return field.isRequired ? [] : undefined;
  if (drawn === null) return null;
  return (field.min ?? 0) > 0 && field.isNullable ? null : [];
};

const linesOf = (text: string | null): readonly string[] =>
  normalized(text ?? '')
    .split('\n')
    .filter((line) => line.trim() !== '');

/** Returns the indexes of a list's rows, in the order of the form. */
export const rowsIn = (submitted: Submitted, at: string): readonly number[] => {
  const found = [...submitted.keys()].flatMap((name) =>
    name.startsWith(`${at}/`) ? [/^(\d{1,4})(?:\/|$)/.exec(name.slice(at.length + 1))?.[1]] : [],
  );
  return [...new Set(found.filter((one) => one !== undefined).map(Number))].toSorted((one, other) => one - other);
};

const isLeftEmpty = (submitted: Submitted, at: string): boolean =>
  [...submitted.keys()].every((name) => !name.startsWith(`${at}/`) || submitted.getAll(name).every((text) => text === ''));

const isEmpty = (submitted: Submitted, at: string): boolean =>
  submitted.getAll(at).every((text) => text.trim() === '') && isLeftEmpty(submitted, at);

const readGroup = (field: Field & { kind: 'group' }, submitted: Submitted, { at, drawn, ...reading }: Reading): unknown => {
  if (!field.isRequired && at !== '' && (drawn === undefined || drawn === null) && isLeftEmpty(submitted, at)) return drawn;
  const before = (drawn ?? {}) as Readonly<Record<string, unknown>>;
  const kind = submitted.get(`${at.slice(0, at.lastIndexOf('/'))}/kind`);
  const isOwn = ({ look: { ofKind } }: Field) => !ofKind || !kind || ofKind === kind;
  const members = field.fields.filter(isOwn).flatMap((one): (readonly [string, unknown])[] => {
    const value = read(one, submitted, { ...reading, at: `${at}/${escapedName(one.name)}`, drawn: before[one.name] });
    return value === undefined ? [] : [[one.name, value]];
  });
  if (members.length > 0 || field.isRequired || at === '') return Object.fromEntries(members);
  return drawn === undefined || drawn === null ? drawn : {};
};

type Reading = {
  readonly at: string;
  readonly drawn: unknown;
  readonly errors: Errors;
  /**
   * Whether the field is a part of a list's row. Rows are sent as a whole, and can have moved since the form was rendered.
   * So an empty field of a row is left out, whatever the row at its index had before.
   */
  readonly isInRow?: boolean;
};

const read = (field: Field, submitted: Submitted, given: Reading): unknown => {
  const { at, errors, isInRow } = given;
  const drawn = isInRow && isEmpty(submitted, at) ? undefined : given.drawn;
  const reading = { ...given, drawn };
  switch (field.kind) {
    case 'text':
      return readText(field, submitted, reading);
    case 'number':
      return readNumber(field, submitted, reading);
    case 'boolean':
      return readBoolean(field, submitted.getAll(at), drawn);
    case 'choice':
      return readChoice(field, submitted.get(at), drawn);
    case 'choices':
      return readList(
        field,
        submitted.getAll(at).filter((one) => one !== ''),
        drawn,
      );
    case 'lines': {
      const items = submitted.getAll(at).flatMap(linesOf);
      return readList(
        field,
        items.map((line) =>
          field.item.kind === 'number' ? readNumber(field.item, submitted, { ...reading, drawn: undefined }, line) : line,
        ),
        drawn,
      );
    }
    case 'rows': {
      const before = Array.isArray(drawn) ? drawn : [];
      const items = rowsIn(submitted, at).map((row) =>
        read(field.item, submitted, { at: `${at}/${row}`, drawn: before[row] ?? undefined, errors, isInRow: true }),
      );
      return readList(field, items, drawn);
    }
    case 'group':
      return readGroup(field, submitted, reading);
    case 'json':
      return readJson({ ...field, pointer: at }, submitted.get(at), drawn, errors);
  }
};

/** Returns the value to send for a field that is not shown: undefined (not sent) or, if the field had a value, null. */
const hiddenValue = ({ isNullable }: Field, drawn: unknown): unknown => (drawn === undefined || !isNullable ? drawn : null);

/**
 * Reads a body whose form has a layout. Fields that the chosen options hide are left out. An empty field of a chosen
 * option is an error: without it, the API would take another option.
 */
const readLayout = (body: Field & { kind: 'group' }, layout: FormLayout, submitted: Submitted, reading: Reading): unknown => {
  const { hidden, needed, sets } = chosenParts(layout, submitted);
  const drawn = (reading.drawn ?? {}) as Json;
  const shown = read({ ...body, fields: body.fields.filter(({ name }) => !hidden.has(name)) }, submitted, reading) as Json;
  const isLeft = ({ look, pointer }: Field) => (look.isSeveral ? severalIn(submitted, pointer).length === 0 : isEmpty(submitted, pointer));
  for (const field of body.fields)
    if (needed.has(field.name) && !hidden.has(field.name) && isLeft(field))
      reading.errors.push({ pointer: field.pointer, message: 'is missing' });
  const left = body.fields.flatMap((field) => {
    const value = hidden.has(field.name) ? hiddenValue(field, drawn[field.name]) : undefined;
    return value === undefined ? [] : [[field.name, value] as const];
  });
  const all: Json = { ...shown, ...Object.fromEntries(left), ...sets };
  const { slug } = layout;
  return slug && !all[slug.to] && all[slug.of] ? { ...all, [slug.to]: slugOf(String(all[slug.of])) } : all;
};

/**
 * Reads the body of a request from a submitted form. `drawn` is the body with which the form was rendered. A field that
 * was empty then, and is still empty, keeps its value.
 */
export const bodyOf = ({ body, layout }: Pick<Form, 'body' | 'layout'>, submitted: Submitted, drawn: unknown): FormBody => {
  if (!body) return { value: undefined, errors: [] };
  const errors: Errors = [];
  const reading = { at: '', drawn, errors };
  const value = layout && body.kind === 'group' ? readLayout(body, layout, submitted, reading) : read(body, submitted, reading);
  return { value, errors };
};

/** Reads the query of a request from a submitted form. The names of its fields start with `?`, such as `?confirm`. */
export const queryOf = ({ query }: Form, submitted: Submitted): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    query.flatMap((field) => {
      const value = read(field, submitted, { at: `?${field.name}`, drawn: undefined, errors: [] });
      return value === undefined || value === '' ? [] : [[field.name, value]];
    }),
  );

/** Whether two JSON values are equal. */
export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Returns the fields of a body that differ from the fields with which the form was rendered. */
export const changedFields = (body: Readonly<Record<string, unknown>>, drawn: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(body).filter(([name, value]) => !isSame(value, drawn[name])));
