import { counted } from '../parts/count-text.ts';
import { icon } from '../parts/icon.ts';
import { moduleScript } from '../parts/module-script.ts';
import { type Child, type Node, tags } from '../parts/tags.ts';
import { escapedName, type Field } from './form.ts';
import {
  area,
  choiceControl,
  type Drawing,
  described,
  idOf,
  numberControl,
  radioControls,
  type Shown,
  shownValue,
  textControl,
  wordsOf,
} from './form-controls.ts';
import { helpWithLimits } from './form-values.ts';
import { labelOf } from './form-words.ts';
import { markOfKind, rowText } from './row-words.ts';

const { div, label, input, p, span, fieldset, legend, button, details, summary } = tags;

const messagesOf = ({ errors, at }: Drawing): Child =>
  errors.has(at)
    ? p({ class: 'field-error', id: `${idOf(at)}-error` }, icon('circle-alert'), span(null, errors.get(at)!.join('. ')))
    : null;

/** Says that a secret which was typed is not in the form any more: neither pages nor the storage of a browser contain it. */
const emptiedNote = ({ isSecret }: Field, { value, at, omitted }: Drawing): Child =>
  isSecret && ((value ?? '') !== '' || omitted?.includes(at))
    ? p({ class: 'quiet', role: 'status' }, icon('info'), span(null, ' What you entered is not shown again: enter it again.'))
    : null;

const boxOf = (field: Field, drawing: Drawing, control: Child): Node =>
  div(
    { class: 'field', 'data-pointer': drawing.at },
    label(
      { for: idOf(drawing.at) },
      span(null, field.label || 'Value'),
      field.isRequired || field.fallback !== undefined ? null : span({ class: 'quiet optional' }, 'optional'),
    ),
    control,
    emptiedNote(field, drawing),
    field.help ? p({ class: 'quiet', id: `${idOf(drawing.at)}-help` }, field.help) : null,
    messagesOf(drawing),
  );

/** Returns the id by which links to the errors of a group focus it, because it has no control of its own. */
const anchorAt = (at: string) => ({ id: idOf(at), tabindex: -1 }) as const;

/** Renders several controls that belong together as a group with a title. */
const groupOf = (field: Field, drawing: Drawing, kind: string, ...controls: Child[]): Node =>
  fieldset(
    // The first radio button of a choice has the id of the field.
    { class: `field ${kind}`, 'data-pointer': drawing.at, ...(kind !== 'one' && anchorAt(drawing.at)) },
    legend(null, field.label || labelOf(field.name) || 'Items'),
    field.help ? p({ class: 'quiet' }, field.help) : null,
    ...controls,
  );

const booleanView = (field: Field, drawing: Drawing): Node => {
  const { value, at, marks } = drawing;
  const shown = typeof value === 'boolean' ? value : field.fallback;
  if (typeof shown !== 'boolean' && !field.isRequired) {
    const options = [['true', 'Yes'] as const, ['false', 'No'] as const];
    return boxOf(field, drawing, choiceControl({ ...field, look: { none: 'As it is', ...field.look } }, drawing, options));
  }
  return div(
    { class: 'field check', 'data-pointer': at },
    // Browsers do not send an unchecked box. So this hidden field sends the value `false` before it.
    input({ type: 'hidden', name: at, value: 'false' }),
    input({
      ...described(field, drawing),
      ...{ type: 'checkbox', role: 'switch', value: 'true', checked: shown === true, 'data-sets': marks?.(at, 'true') ?? null },
    }),
    div(
      null,
      label({ for: idOf(at) }, field.label),
      field.help ? p({ class: 'quiet', id: `${idOf(at)}-help` }, field.help) : null,
      messagesOf(drawing),
    ),
  );
};

const boxes = (at: string, options: readonly (readonly [string, string])[], chosen: readonly unknown[]): Node =>
  div(
    { class: 'choice-list' },
    ...options.map(([one, name]) =>
      label({ class: 'choice' }, input({ type: 'checkbox', name: at, value: one, checked: chosen.includes(one) }), span(null, name)),
    ),
  );

const choicesView = (field: Field & { kind: 'choices' }, drawing: Drawing): Node => {
  const { at, value } = drawing;
  const chosen = Array.isArray(value) ? value : [];
  return groupOf(
    field,
    drawing,
    'choices',
    input({ type: 'hidden', name: at, value: '' }),
    boxes(at, wordsOf(field, field.options), chosen),
    messagesOf(drawing),
  );
};

/** Adds the errors of the items in a list to those of the list, because all items are shown in one control. */
const withItemErrors = (drawing: Drawing): Drawing => {
  const { at, errors } = drawing;
  const within = [...errors].filter(([pointer]) => pointer.startsWith(`${at}/`));
  if (within.length === 0) return drawing;
  const messages = within.flatMap(([pointer, all]) => {
    const item = pointer.slice(at.length + 1);
    return all.map((one) => (/^\d+$/.test(item) ? `Line ${Number(item) + 1}: ${one}` : `${item}: ${one}`));
  });
  return { ...drawing, errors: new Map([...errors, [at, [...(errors.get(at) ?? []), ...messages]]]) };
};

const MAX_SELECTS = 5;

const linesView = (field: Field & { kind: 'lines' }, given: Drawing): Node => {
  const drawing = withItemErrors(given);
  const items = Array.isArray(drawing.value) ? drawing.value : [];
  const choices = drawing.choices[field.name.replace(/s$/, '')];
  if (choices && field.max !== null && field.max <= MAX_SELECTS) {
    const controlOf = (index: number) => {
      const own = { id: `${idOf(drawing.at)}-${index + 1}`, label: `${field.label} ${index + 1}` };
      return choiceControl(
        { ...field, isRequired: index === 0 && field.isRequired, fallback: undefined, look: { none: 'None', ...field.look } },
        { ...drawing, value: items[index] ?? '', ...(index > 0 && { own, focus: undefined }) },
        choices,
      );
    };
    const selects = Array.from({ length: field.max }, (_, index) =>
      div({ class: 'numbered' }, span({ class: 'quiet' }, `${index + 1}.`), controlOf(index)),
    );
    return boxOf(field, drawing, div({ class: 'stack' }, ...selects));
  }
  const text = items.map(String).join('\n');
  const placeholder = field.look.none ?? 'One per line';
  const required = field.isRequired && !drawing.isOptional && (field.min ?? 0) > 0;
  return boxOf(
    field,
    drawing,
    area({ ...described(field, drawing), placeholder, required, ...(field.look.rows && { rows: field.look.rows }) }, text),
  );
};

const rowsView = (field: Field & { kind: 'rows' }, drawing: Drawing): Node => {
  const { at, value, errors } = drawing;
  const items = Array.isArray(value) ? value : [];
  const edit = (name: string, target: string, text: string, sign: 'plus' | 'trash-2' | 'arrow-up' | 'arrow-down' | 'play') =>
    button(
      { name, value: target, formnovalidate: true, class: 'small', 'aria-label': text, title: text },
      icon(sign),
      sign === 'plus' || sign === 'play' ? text : null,
    );
  const noteOf = (item: unknown): Child => {
    const note = drawing.notes?.(item) ?? null;
    return note === null ? null : span({ class: 'quiet row-note' }, note);
  };
  const rowOf = (item: unknown, index: number) => {
    const own = `${at}/${index}`;
    const text = rowText(item);
    const hasError = [...errors.keys()].some((pointer) => pointer === own || pointer.startsWith(`${own}/`));
    const marks = (pointer: string, one: string) => (pointer === `${own}/kind` ? markOfKind(one) : null);
    return div(
      { class: 'form-row', 'data-pointer': own, ...(field.item.kind === 'group' && anchorAt(own)) },
      div(
        { class: 'row-tools' },
        index > 0 ? edit('_up', own, 'Move up', 'arrow-up') : null,
        // The row below moves up.
        index < items.length - 1 ? edit('_up', `${at}/${index + 1}`, 'Move down', 'arrow-down') : null,
        edit('_remove', own, 'Remove', 'trash-2'),
      ),
      errors.has(own) ? messagesOf({ ...drawing, at: own }) : null,
      details(
        { name: `rows${at}`, open: hasError || text === null || drawing.openRow === own },
        summary(null, icon('chevron-right'), span(null, text ?? 'New', noteOf(item))),
        ...membersOf(field.item, { ...drawing, at: own, value: item, marks }),
        drawing.isTried ? div({ class: 'actions' }, edit('_try', own, 'Try this rule', 'play')) : null,
      ),
    );
  };
  return groupOf(
    field,
    drawing,
    'rows',
    messagesOf(drawing),
    items.length === 0 ? null : div({ class: 'row-list', 'data-rows': at }, ...items.map(rowOf)),
    items.length > 1 ? moduleScript('row-order.mjs') : null,
    edit('_add', at || '/', items.length === 0 ? 'Add the first' : 'Add another', 'plus'),
  );
};

const MAX_SHOWN_OPTIONALS = 5;

/** Renders further settings, which are closed at first. */
export const moreFields = (title: string, isOpen: boolean, ...content: Child[]): Child =>
  details({ class: 'more-fields', open: isOpen }, summary(null, icon('chevron-right'), title), ...content);

/** Whether the members of a group depend on the kind of the row that the group is in. */
const hasKinds = (field: Field): boolean => field.kind === 'group' && field.fields.some(({ look }) => look.ofKind);

/** Puts the kind of a rule before the fields that depend on it, and its name last. */
const kindFirst = (fields: readonly Field[]): readonly Field[] => {
  const order = (name: string): number => (name === 'kind' ? 0 : name === 'name' ? 2 : 1);
  return fields.toSorted((one, other) => order(one.name) - order(other.name));
};

const membersOf = (field: Field, drawing: Drawing): readonly Child[] => {
  if (field.kind !== 'group') return [fieldView(field, drawing)];
  const values = (drawing.value ?? {}) as Readonly<Record<string, unknown>>;
  const viewOf = (one: Field) => {
    const { ofKind } = one.look;
    const isOptional = drawing.isOptional || ofKind !== undefined;
    const view = fieldView(one, { ...drawing, isOptional, at: `${drawing.at}/${escapedName(one.name)}`, value: values[one.name] });
    return ofKind ? div({ 'data-shown': markOfKind(ofKind) }, view) : view;
  };
  if (field.fields.some(({ look }) => look.ofKind)) return field.fields.map(viewOf);
  if (field.fields.some(hasKinds)) return kindFirst(field.fields).map(viewOf);
  const isMain = ({ isRequired, name }: Field) => isRequired || (drawing.visible?.includes(name) ?? false);
  const required = field.fields.filter(isMain);
  const optional = field.fields.filter((one) => !isMain(one));
  const hasContent = optional.some(({ name }) => values[name] !== undefined);
  const hasError = optional.some(({ name }) =>
    [...drawing.errors.keys()].some((one) => one.startsWith(`${drawing.at}/${escapedName(name)}`)),
  );
  if (field.look.members || required.length === 0 || optional.length === 0 || optional.length <= MAX_SHOWN_OPTIONALS || hasContent)
    return [...required, ...optional].map(viewOf);
  return [...required.map(viewOf), moreFields(counted(optional.length, 'more setting'), hasError, ...optional.map(viewOf))];
};

const jsonText = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2);

const choiceView = (field: Field & { kind: 'choice' }, drawing: Drawing): Node =>
  field.look.cards || field.look.isTiles
    ? groupOf(field, drawing, 'one', radioControls(field, drawing), messagesOf(drawing))
    : boxOf(field, drawing, choiceControl(field, drawing, wordsOf(field, field.options)));

/** Renders a group that has only one text as this text. */
const onlyView = ({ label: text, help, isRequired, look }: Field, only: Field, drawing: Drawing): Node => {
  const value = (drawing.value as Readonly<Record<string, unknown>> | null | undefined)?.[only.name];
  const field = { ...only, label: text, help, look, isRequired };
  const view = fieldView(field, { ...drawing, at: `${drawing.at}/${escapedName(only.name)}`, value });
  return div({ class: 'only', 'data-pointer': drawing.at, ...anchorAt(drawing.at) }, view, messagesOf(drawing));
};

const numberView = (field: Field & { kind: 'number' }, drawing: Drawing): Node => boxOf(field, drawing, numberControl(field, drawing));

/** Renders a field of a form with its label, its help text and its errors. */
export const fieldView = (field: Field, drawing: Drawing): Node => {
  switch (field.kind) {
    case 'text':
      return boxOf(field, drawing, textControl(field, drawing));
    case 'number':
      return numberView({ ...field, help: helpWithLimits(field) }, drawing);
    case 'boolean':
      return booleanView(field, drawing);
    case 'choice':
      return choiceView(field, drawing);
    case 'choices':
      return choicesView(field, drawing);
    case 'lines':
      return linesView(field, drawing);
    case 'rows':
      return rowsView(field, drawing);
    case 'group':
      if (field.fields.length === 1 && field.fields[0]!.kind === 'text') return onlyView(field, field.fields[0]!, drawing);
      return groupOf(field, drawing, field.look.members ? 'group columns' : 'group', messagesOf(drawing), ...membersOf(field, drawing));
    case 'json': {
      const within = withItemErrors(drawing);
      const text = field.isSecret ? '' : jsonText(shownValue(field, drawing.value));
      const shown = text === '{}' || text === '[]' ? '' : text;
      return boxOf(field, within, area({ ...described(field, within), class: 'mono', placeholder: 'JSON', spellcheck: false }, shown));
    }
  }
};

/** Renders the fields of the body of an operation in the order of its schema. */
export const bodyFields = (body: Field | null, value: unknown, shown: Shown): readonly Child[] =>
  body === null ? [] : membersOf(body, { ...shown, at: '', value });
