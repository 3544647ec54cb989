import { patternFor } from './field-pattern.ts';
import { escapedName, type Field, labelOf } from './form.ts';
import { counted } from './parts/count-text.ts';
import { icon } from './parts/icon.ts';
import { type Child, element, type Node, tags } from './parts/tags.ts';

const { div, label, input, select, option, p, span, fieldset, legend, button, details, summary } = tags;

/** For each kind of resource, the ids that can be chosen in a field, each with a name for people. */
export type Choices = Readonly<Record<string, readonly (readonly [id: string, name: string])[]>>;

/**
 * What a form shows in addition to the values of its fields: the errors by JSON pointer, and the choices for id fields.
 */
export type Shown = {
  readonly errors: ReadonlyMap<string, readonly string[]>;
  readonly choices: Choices;
  /** The JSON pointer of the field that is focused when the page opens. */
  readonly focus?: string | undefined;
  /** The names of optional fields that are never hidden among the further settings. */
  readonly visible?: readonly string[] | undefined;
};

type Drawing = Shown & { readonly at: string; readonly value: unknown };

const idOf = (at: string): string => `f${at.replaceAll(/[^\w-]/g, '-')}`;

const EXAMPLE_LENGTH = 60;
const MIN_AREA_ROWS = 3;
const MAX_AREA_ROWS = 14;

const helpOf = ({ help, fallback, kind }: Field): string | null => {
  const usual = fallback === undefined || kind === 'boolean' || typeof fallback === 'object' ? null : `Default: ${String(fallback)}`;
  return [help, usual].filter((text) => text !== null).join('. ') || null;
};

const messagesOf = ({ errors, at }: Drawing): Child =>
  errors.has(at)
    ? p({ class: 'field-error', id: `${idOf(at)}-error` }, icon('circle-alert'), span(null, errors.get(at)!.join('. ')))
    : null;

/** Returns the attributes by which screen readers find the help text and the errors of a control. */
const described = (field: Field, { at, errors, focus }: Drawing) => {
  const texts = [...(helpOf(field) ? [`${idOf(at)}-help`] : []), ...(errors.has(at) ? [`${idOf(at)}-error`] : [])];
  return {
    id: idOf(at),
    name: at,
    autofocus: focus === at ? true : null,
    'aria-describedby': texts.join(' ') || null,
    'aria-invalid': errors.has(at) ? 'true' : null,
  };
};

const boxOf = (field: Field, drawing: Drawing, control: Child): Node => {
  const help = helpOf(field);
  return div(
    { class: 'field', 'data-pointer': drawing.at },
    label(
      { for: idOf(drawing.at) },
      span(null, field.label || 'Value'),
      field.isRequired ? null : span({ class: 'quiet optional' }, 'optional'),
    ),
    control,
    help ? p({ class: 'quiet', id: `${idOf(drawing.at)}-help` }, help) : null,
    messagesOf(drawing),
  );
};

/**
 * Renders a field for a text with several lines. It is not indented in the HTML, because the spaces would become a part
 * of the text.
 */
const area = (attributes: Record<string, unknown>, text: string): Node => {
  const rows = Math.min(MAX_AREA_ROWS, Math.max(MIN_AREA_ROWS, text.split('\n').length));
  // Browsers drop a line end at the start of a textarea. So one is added.
  return element('textarea', { rows, ...attributes }, `\n${text}`);
};

const placeholderOf = ({ placeholder }: Field): string | null =>
  placeholder !== null && placeholder.length <= EXAMPLE_LENGTH && !/^c[a-z0-9]{24}$/.test(placeholder) ? placeholder : null;

const textControl = (field: Field & { kind: 'text' }, drawing: Drawing): Node => {
  const value = field.isSecret || drawing.value === undefined || drawing.value === null ? '' : String(drawing.value);
  const choices = drawing.choices[field.name];
  const isNeeded = field.isRequired && !field.isNullable && (field.min ?? 1) > 0;
  const common = { ...described(field, drawing), required: isNeeded, maxlength: field.max };
  if (choices) return choiceControl(field, { ...drawing, value }, choices);
  const spelling = { autocomplete: 'off', spellcheck: 'false', placeholder: placeholderOf(field) };
  if (field.input === 'area' || value.includes('\n')) return area({ ...common, placeholder: placeholderOf(field) }, value);
  const limits =
    field.input === 'text' ? { pattern: patternFor(field.pattern), title: field.pattern ? `The form ${field.pattern}` : null } : {};
  return input({ ...common, type: field.input, minlength: field.min || null, value, ...spelling, ...limits } as never);
};

const numberControl = (field: Field & { kind: 'number' }, drawing: Drawing): Node =>
  input({
    ...described(field, drawing),
    type: typeof drawing.value === 'string' ? 'text' : 'number',
    inputmode: field.isInteger ? 'numeric' : 'decimal',
    step: field.isInteger ? '1' : 'any',
    min: field.min,
    max: field.max,
    required: field.isRequired && !field.isNullable,
    placeholder: placeholderOf(field),
    value: drawing.value === undefined || drawing.value === null ? '' : String(drawing.value),
  } as never);

const choiceControl = (field: Field, drawing: Drawing, options: readonly (readonly [string, string])[]): Node => {
  const value = drawing.value === undefined || drawing.value === null ? '' : String(drawing.value);
  const first = field.isRequired && !field.isNullable ? 'Choose …' : field.fallback ? `Default (${String(field.fallback)})` : 'Not set';
  const known = options.some(([one]) => one === value) || value === '' ? options : [...options, [value, value] as const];
  return select(
    { ...described(field, drawing), required: field.isRequired && !field.isNullable } as never,
    option({ value: '', selected: value === '' }, first),
    ...known.map(([one, name]) => option({ value: one, selected: one === value }, name)),
  );
};

const booleanView = (field: Field, drawing: Drawing): Node => {
  const { value, at } = drawing;
  const shown = typeof value === 'boolean' ? value : field.fallback;
  if (typeof shown !== 'boolean' && !field.isRequired) {
    const options = [['true', 'Yes'] as const, ['false', 'No'] as const];
    return boxOf(field, drawing, choiceControl({ ...field, fallback: undefined }, drawing, options));
  }
  const help = helpOf(field);
  return div(
    { class: 'field check', 'data-pointer': at },
    // Browsers do not send an unchecked box. So this hidden field sends the value `false` before it.
    input({ type: 'hidden', name: at, value: 'false' }),
    input({ ...described(field, drawing), type: 'checkbox', value: 'true', checked: shown === true } as never),
    div(
      null,
      label({ for: idOf(at) }, field.label),
      help ? p({ class: 'quiet', id: `${idOf(at)}-help` }, help) : null,
      messagesOf(drawing),
    ),
  );
};

const choicesView = (field: Field & { kind: 'choices' }, drawing: Drawing): Node => {
  const { at, value } = drawing;
  const chosen = Array.isArray(value) ? value : [];
  const help = helpOf(field);
  return fieldset(
    { class: 'field choices', 'data-pointer': at },
    legend(null, field.label),
    help ? p({ class: 'quiet' }, help) : null,
    input({ type: 'hidden', name: at, value: '' }),
    div(
      { class: 'choice-list' },
      ...field.options.map((one) =>
        label({ class: 'choice' }, input({ type: 'checkbox', name: at, value: one, checked: chosen.includes(one) }), span(null, one)),
      ),
    ),
    messagesOf(drawing),
  );
};

/** Adds the errors of the items in a list to those of the list, because all items are shown in one control. */
const withItemErrors = (drawing: Drawing): Drawing => {
  const { at, errors } = drawing;
  const within = [...errors].filter(([pointer]) => pointer.startsWith(`${at}/`));
  if (within.length === 0) return drawing;
  const messages = within.flatMap(([pointer, all]) => all.map((one) => `Line ${Number(pointer.slice(at.length + 1)) + 1}: ${one}`));
  return { ...drawing, errors: new Map([...errors, [at, [...(errors.get(at) ?? []), ...messages]]]) };
};

const MAX_SELECTS = 5;

const linesView = (field: Field & { kind: 'lines' }, given: Drawing): Node => {
  const drawing = withItemErrors(given);
  const items = Array.isArray(drawing.value) ? drawing.value : [];
  const choices = drawing.choices[field.name.replace(/s$/, '')];
  if (choices && field.max !== null && field.max <= MAX_SELECTS) {
    const isFirst = (index: number) => index === 0 && field.isRequired;
    const one = (index: number) =>
      choiceControl({ ...field, isRequired: isFirst(index), fallback: undefined }, { ...drawing, value: items[index] ?? '' }, choices);
    const selects = Array.from({ length: field.max }, (_, index) =>
      div({ class: 'numbered' }, span({ class: 'quiet' }, `${index + 1}.`), one(index)),
    );
    return boxOf(field, drawing, div({ class: 'stack' }, ...selects));
  }
  const text = items.map(String).join('\n');
  const attributes = { ...described(field, drawing), placeholder: 'One per line', required: field.isRequired && (field.min ?? 0) > 0 };
  return boxOf(field, drawing, area(attributes, text));
};

const rowsView = (field: Field & { kind: 'rows' }, drawing: Drawing): Node => {
  const { at, value, errors } = drawing;
  const items = Array.isArray(value) ? value : [];
  const help = helpOf(field);
  const edit = (name: string, target: string, text: string, sign: 'plus' | 'trash-2' | 'arrow-up') =>
    button(
      { name, value: target, formnovalidate: true, class: 'small', 'aria-label': text, title: text } as never,
      icon(sign),
      sign === 'plus' ? text : null,
    );
  const rowOf = (item: unknown, index: number) =>
    fieldset(
      { class: 'form-row', 'data-pointer': `${at}/${index}` },
      legend(null, `${index + 1}`),
      div(
        { class: 'row-tools' },
        index > 0 ? edit('_up', `${at}/${index}`, 'Move up', 'arrow-up') : null,
        edit('_remove', `${at}/${index}`, 'Remove', 'trash-2'),
      ),
      errors.has(`${at}/${index}`) ? messagesOf({ ...drawing, at: `${at}/${index}` }) : null,
      ...membersOf(field.item, { ...drawing, at: `${at}/${index}`, value: item }),
    );
  return fieldset(
    { class: 'field rows', 'data-pointer': at },
    legend(null, field.label || 'Items'),
    help ? p({ class: 'quiet' }, help) : null,
    messagesOf(drawing),
    ...items.map(rowOf),
    edit('_add', at || '/', items.length === 0 ? 'Add the first' : 'Add another', 'plus'),
  );
};

const MAX_SHOWN_OPTIONALS = 5;

const membersOf = (field: Field, drawing: Drawing): readonly Child[] => {
  if (field.kind !== 'group') return [fieldView(field, drawing)];
  const values = (drawing.value ?? {}) as Readonly<Record<string, unknown>>;
  const viewOf = (one: Field) => fieldView(one, { ...drawing, at: `${drawing.at}/${escapedName(one.name)}`, value: values[one.name] });
  const isMain = ({ isRequired, name }: Field) => isRequired || (drawing.visible?.includes(name) ?? false);
  const required = field.fields.filter(isMain);
  const optional = field.fields.filter((one) => !isMain(one));
  const hasContent = optional.some(({ name }) => values[name] !== undefined);
  const hasError = optional.some(({ name }) =>
    [...drawing.errors.keys()].some((one) => one.startsWith(`${drawing.at}/${escapedName(name)}`)),
  );
  if (required.length === 0 || optional.length === 0 || optional.length <= MAX_SHOWN_OPTIONALS || hasContent)
    return [...required, ...optional].map(viewOf);
  const more = details(
    { class: 'more-fields', open: hasError },
    summary(null, icon('chevron-right'), counted(optional.length, 'more setting')),
    ...optional.map(viewOf),
  );
  return [...required.map(viewOf), more];
};

const jsonText = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2);

/** Renders a field of a form with its label, its help text and its errors. */
export const fieldView = (field: Field, drawing: Drawing): Node => {
  switch (field.kind) {
    case 'text':
      return boxOf(field, drawing, textControl(field, drawing));
    case 'number':
      return boxOf(field, drawing, numberControl(field, drawing));
    case 'boolean':
      return booleanView(field, drawing);
    case 'choice':
      return boxOf(
        field,
        drawing,
        choiceControl(
          field,
          drawing,
          field.options.map((one) => [one, one] as const),
        ),
      );
    case 'choices':
      return choicesView(field, drawing);
    case 'lines':
      return linesView(field, drawing);
    case 'rows':
      return rowsView(field, drawing);
    case 'group':
      return fieldset(
        { class: 'field group', 'data-pointer': drawing.at },
        legend(null, field.label || labelOf(field.name)),
        helpOf(field) ? p({ class: 'quiet' }, helpOf(field)) : null,
        messagesOf(drawing),
        ...membersOf(field, drawing),
      );
    case 'json': {
      const text = field.isSecret ? '' : jsonText(drawing.value);
      return boxOf(field, drawing, area({ ...described(field, drawing), class: 'mono', placeholder: 'JSON', spellcheck: 'false' }, text));
    }
  }
};

/** Renders the fields of the body of an operation. */
export const bodyFields = (body: Field | null, value: unknown, shown: Shown): readonly Child[] =>
  body === null ? [] : membersOf(body, { ...shown, at: '', value });
