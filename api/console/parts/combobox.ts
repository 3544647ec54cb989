import { moduleScript } from './module-script.ts';
import { type Child, element, type Node, tags } from './tags.ts';

const { input, option, select } = tags;

/** The maximum number of choices that a combobox contains. With more, it is a search. */
export const MAX_CHOICES = 200;

/** A value that can be chosen. `detail` distinguishes choices with the same name, such as a state or a count. */
export type Choice = { readonly value: string; readonly name: string; readonly detail?: string | undefined };

type Combobox = {
  readonly id: string;
  readonly name: string;
  /** What is chosen, such as `agent`. It is named when nothing is found. */
  readonly what: string;
  readonly value: string;
  /** The chosen values, if several can be chosen. `value` is then not used. */
  readonly values?: readonly string[];
  /** All values that can be chosen; null if there are more than MAX_CHOICES. */
  readonly choices: readonly Choice[] | null;
  /** The text for no choice; by default, `any`. Null if a value is required. */
  readonly none?: string | null;
  /**
   * The address of the search, if `choices` is null: `…/autocomplete` with its types and limit. The typed text is added
   * to it as `q`.
   */
  readonly source?: string | undefined;
  /** The name of the value, if `choices` is null. */
  readonly valueName?: string | undefined;
  /** Whether the form is sent after each choice. */
  readonly isSentAtOnce?: boolean;
  /** Further attributes of the field, such as `aria-describedby`. */
  readonly attributes?: Readonly<Record<string, unknown>>;
};

const ANY_ID = /^c[a-z0-9]{24}$/;

const listed = (choices: readonly Choice[], value: string): readonly Choice[] =>
  value === '' || choices.some((one) => one.value === value)
    ? choices
    : [...choices, { value, name: ANY_ID.test(value) ? 'the chosen one' : value }];

/** Renders a list in which several values can be chosen. */
const severalOf = ({ id, name, choices, attributes }: Combobox, values: readonly string[]): Node =>
  select(
    { id, name, multiple: true, ...attributes },
    ...values
      .reduce(listed, choices ?? [])
      .map((one) => option({ value: one.value, selected: values.includes(one.value), 'data-detail': one.detail || null }, one.name)),
  );

const selectOf = ({ id, name, value, choices, none = 'any', attributes }: Combobox): Node =>
  select(
    { id, name, required: none === null, ...attributes },
    option({ value: '', selected: value === '' }, none ?? 'Choose …'),
    ...listed(choices ?? [], value).map((one) =>
      option({ value: one.value, selected: one.value === value, 'data-detail': one.detail || null }, one.name),
    ),
  );

/**
 * Renders a field in which people choose a value by its name. It is a select or, for many choices, a text field. Its module makes it a
 * search, with what is chosen as chips. The caller renders the label.
 */
export const combobox = (given: Combobox): Child => {
  const { id, name, what, value, choices, none = 'any', source, valueName, isSentAtOnce, attributes } = given;
  const isText = choices === null;
  return [
    element(
      'combo-box',
      {
        'data-what': what,
        'data-source': isText ? (source ?? null) : null,
        'data-label': isText ? (valueName ?? null) : null,
        'data-submit': isSentAtOnce ? '' : null,
      },
      isText
        ? input({ id, name, value, required: none === null, autocomplete: 'off', spellcheck: false, ...attributes })
        : given.values
          ? severalOf(given, given.values)
          : selectOf(given),
    ),
    moduleScript('combobox.mjs'),
  ];
};
