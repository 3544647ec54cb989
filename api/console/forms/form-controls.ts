import { combobox } from '../parts/combobox.ts';
import { moduleScript } from '../parts/module-script.ts';
import { type Child, element, type Node, tags } from '../parts/tags.ts';
import { patternFor } from './field-pattern.ts';
import type { Field } from './form.ts';
import { isMissing } from './form-layouts.ts';
import { amountText, inUnit, textOf, textOfBase64, unitField, unitsOf } from './form-values.ts';
import { labelOf, valueWords } from './form-words.ts';

const { div, input, label, select, option, p, span, small } = tags;

/** For each kind of resource, the ids that can be chosen in a field, each with a name for people. */
export type Choices = Readonly<Record<string, readonly (readonly [id: string, name: string])[]>>;

/**
 * What a form shows in addition to the values of its fields: the errors by JSON pointer, and the choices for id fields.
 */
export type Shown = {
  readonly errors: ReadonlyMap<string, readonly string[]>;
  readonly choices: Choices;
  /** The time zone in which times are shown and typed; UTC by default. */
  readonly zone?: string | undefined;
  /** The JSON pointer of the field that is focused when the page opens. */
  readonly focus?: string | undefined;
  /** The names of optional fields that are never hidden among the further settings. */
  readonly visible?: readonly string[] | undefined;
  /** Returns the marks by which styles show other fields while a field has this value; null if there are none. */
  readonly marks?: ((pointer: string, value: string) => string | null) | undefined;
  /** Returns what is shown beside the sentence of a list's row; null for nothing. */
  readonly notes?: ((item: unknown) => string | null) | undefined;
  /** The pointer of a list's row that is open. */
  readonly openRow?: string | undefined;
  /** The names of the fields that a browser has not kept during a new sign-in. */
  readonly omitted?: readonly string[] | undefined;
  /** Whether the rules of a list can be tried one by one. */
  readonly isTried?: boolean | undefined;
  /** Whether fields can be hidden, so that browsers must not insist on them. */
  readonly isOptional?: boolean | undefined;
};

/**
 * The field that is shown: its pointer and its value. A control that is not the first of its field has an id and a name
 * of its own, because the label of the field is that of the first.
 */
export type Drawing = Shown & {
  readonly at: string;
  readonly value: unknown;
  readonly own?: { readonly id: string; readonly label: string };
};

/** Returns the id of the control of a field. The fields of the path, of the query and of the body have different ids. */
export const idOf = (at: string): string =>
  `f${at
    .replace(/^:/, '--of-')
    .replace(/^\?/, '--with-')
    .replaceAll(/[^\w-]/g, '-')}`;

const EXAMPLE_LENGTH = 60;
const MIN_AREA_ROWS = 3;
const MAX_AREA_ROWS = 14;

/** Returns the value that a field shows: its own or, if it has none, the default of the API. */
export const shownValue = ({ fallback, isSecret }: Field, value: unknown): unknown =>
  isSecret ? '' : value === undefined ? fallback : value;

const isRequired = (field: Field, { isOptional }: Drawing): boolean =>
  field.isRequired && !field.isNullable && !isOptional && field.look.isDerived !== true;

/** Returns the attributes by which screen readers find the help text and the errors of a control. */
export const described = (field: Field, { at, errors, focus, own }: Drawing) => {
  const texts = [...(field.help ? [`${idOf(at)}-help`] : []), ...(errors.has(at) ? [`${idOf(at)}-error`] : [])];
  return {
    id: own?.id ?? idOf(at),
    name: at,
    'aria-label': own?.label ?? null,
    autofocus: focus === at ? true : null,
    'aria-describedby': texts.join(' ') || null,
    'aria-invalid': errors.has(at) ? 'true' : null,
    'data-unkept': field.isSecret ? '' : null,
  };
};

/**
 * Renders a field for a text with several lines. It is not indented in the HTML, because the spaces would become a part
 * of the text.
 */
export const area = (attributes: Record<string, unknown>, text: string): Node => {
  const rows = Math.min(MAX_AREA_ROWS, Math.max(MIN_AREA_ROWS, text.split('\n').length));
  // Browsers drop a line end at the start of a textarea. So one is added.
  return element('textarea', { rows, ...attributes }, `\n${text}`);
};

const placeholderOf = ({ placeholder, look, isRequired: isNeeded }: Field): string | null => {
  if (look.placeholder !== undefined) return look.placeholder;
  if (look.none !== undefined) return look.none;
  const isShown = isNeeded && placeholder !== null && placeholder.length <= EXAMPLE_LENGTH && !/^c[a-z0-9]{24}$/.test(placeholder);
  return isShown ? placeholder : null;
};

const areaRows = ({ look, input: kind }: Field & { kind: 'text' }): number =>
  look.rows ?? (kind === 'area' || kind === 'bytes' ? MIN_AREA_ROWS : 0);

export const textControl = (field: Field & { kind: 'text' }, drawing: Drawing): Child => {
  const { choices, value: given, zone = 'UTC', at } = drawing;
  const value = shownValue(field, given);
  const text = textOf(field, value, zone);
  const own = choices[field.name];
  if (own) return resourceControl(field, { ...drawing, value }, own);
  const isNeeded = isRequired(field, drawing) && (field.min ?? 1) > 0;
  const common = { ...described(field, drawing), required: isNeeded, placeholder: placeholderOf(field) };
  if (field.input === 'time')
    return div(
      { class: 'with-unit' },
      input({ ...common, placeholder: null, type: 'datetime-local', step: 'any', value: text }),
      span({ class: 'quiet' }, zone),
    );
  const isCoded = field.input === 'bytes' && typeof value === 'string' && textOfBase64(value) === null;
  const coded = isCoded ? input({ type: 'hidden', name: `_coded${at}`, value: '1' }) : null;
  // The limits of the API are those of one value, and the text may have several.
  const isOne = !field.look.isSeveral;
  const limits = { maxlength: field.input === 'bytes' || !isOne ? null : field.max, minlength: (isOne && field.min) || null };
  const rows = areaRows(field);
  if (rows > 0 || text.includes('\n')) return [coded, area({ ...common, maxlength: limits.maxlength, ...(rows > 0 && { rows }) }, text)];
  const pattern = field.input === 'text' && isOne ? { pattern: patternFor(field.pattern), title: field.pattern ? field.help : null } : {};
  const type = field.look.type ?? (field.input === 'area' || field.input === 'bytes' ? 'text' : field.input);
  return input({ ...common, ...limits, type, value: text, autocomplete: 'off', spellcheck: false, ...pattern });
};

/** Renders the choice of a resource by its name. */
const resourceControl = (field: Field, drawing: Drawing, own: Choices[string]): Child => {
  const { id, name, ...attributes } = described(field, drawing);
  const { value } = drawing;
  if (field.look.isSeveral)
    return combobox({
      ...{ id, name, what: labelOf(field.name).toLowerCase(), value: '', none: null, attributes },
      values: Array.isArray(value) ? value.map(String) : isMissing(value) ? [] : [String(value)],
      choices: own.map(([one, text]) => ({ value: one, name: text })),
    });
  return combobox({
    ...{ id, name, what: field.label.toLowerCase(), value: isMissing(value) ? '' : String(value) },
    choices: own.map(([one, text]) => ({ value: one, name: text })),
    none: field.isRequired && !field.isNullable ? null : noneOf(field),
    attributes: { ...attributes, required: isRequired(field, drawing) },
  });
};

export const numberControl = (field: Field & { kind: 'number' }, drawing: Drawing): Node => {
  const value = shownValue(field, drawing.value);
  const units = unitsOf(field.unit);
  const isNumber = typeof value === 'number';
  const scaled = isNumber && units.length > 0 ? inUnit(value, field.unit!) : null;
  const name = scaled?.name ?? units[0]?.[0];
  const text = field.unit === 'usd' && isNumber ? amountText(value) : isMissing(value) ? '' : String(scaled?.count ?? value);
  const isScaled = units.length > 1;
  const control = input({
    ...described(field, drawing),
    type: typeof value === 'string' && value !== '' ? 'text' : 'number',
    inputmode: field.isInteger && !isScaled ? 'numeric' : 'decimal',
    step: field.isInteger && !isScaled ? '1' : 'any',
    min: isScaled ? 0 : field.min,
    max: isScaled ? null : field.max,
    required: isRequired(field, drawing),
    placeholder: placeholderOf(field),
    value: text,
  });
  if (field.unit === null) return control;
  if (field.unit === 'usd') return div({ class: 'with-unit' }, span({ class: 'quiet' }, '$'), control);
  if (!isScaled) return div({ class: 'with-unit' }, control, span({ class: 'quiet' }, name ?? field.unit));
  return div(
    { class: 'with-unit' },
    control,
    select(
      { name: unitField(drawing.at), 'aria-label': `${field.label}: unit` },
      ...units.map(([one]) => option({ value: one, selected: one === name }, one)),
    ),
  );
};

/** Returns the word that a field shows for an empty value. */
export const noneOf = ({ look, label: text }: Field): string => look.none ?? `No ${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;

export const choiceControl = (field: Field, drawing: Drawing, options: readonly (readonly [string, string])[]): Node => {
  const shown = shownValue(field, drawing.value);
  const value = isMissing(shown) ? '' : String(shown);
  const needsValue = field.isRequired && !field.isNullable;
  const hasDefault = !field.isNullable && !isMissing(field.fallback);
  const first = needsValue ? 'Choose …' : noneOf(field);
  const known = options.some(([one]) => one === value) || value === '' ? options : [...options, [value, value] as const];
  const marked = (one: string) => drawing.marks?.(drawing.at, one) ?? null;
  return select(
    { ...described(field, drawing), required: isRequired(field, drawing) },
    hasDefault ? null : option({ value: '', selected: value === '', 'data-sets': marked('') }, first),
    ...known.map(([one, name]) => option({ value: one, selected: one === value, 'data-sets': marked(one) }, name)),
  );
};

/** Returns the allowed values of a field, each with the word that people see. */
export const wordsOf = ({ look, name }: Field, values: readonly string[]): readonly (readonly [string, string])[] =>
  values.map((one) => [one, look.words?.[one] ?? valueWords(one, name)] as const);

/** Renders a field that searches the tiles. Its module shows it. */
const tileSearch = ({ label: text }: Field): Child =>
  div(
    { class: 'tile-search', hidden: true },
    input({ type: 'search', placeholder: 'Search', 'aria-label': `Search: ${text}`, 'data-tile-search': '', autocomplete: 'off' }),
    p({ class: 'quiet', role: 'status', 'data-tile-status': '' }),
    moduleScript('tile-search.mjs'),
  );

/** Renders a list of values as radio buttons: cards that say what each value means, or tiles. */
export const radioControls = (field: Field & { kind: 'choice' }, drawing: Drawing): Node => {
  const { at, marks } = drawing;
  const value = shownValue(field, drawing.value);
  const { cards } = field.look;
  const all = field.isRequired || !isMissing(field.fallback) ? [] : [['', noneOf(field)] as const];
  return div(
    { class: cards ? 'cards' : 'tiles' },
    field.look.isTiles ? tileSearch(field) : null,
    ...[...all, ...wordsOf(field, field.options)].map(([one, name], index) =>
      label(
        { class: 'tile' },
        input({
          ...(index === 0 ? { id: idOf(at) } : {}),
          ...{ type: 'radio', name: at, value: one, checked: one === (value ?? ''), 'data-sets': marks?.(at, one) ?? null },
          required: isRequired(field, drawing),
        }),
        span(null, name),
        cards?.[one] ? small({ class: 'quiet' }, cards[one]) : null,
      ),
    ),
  );
};
