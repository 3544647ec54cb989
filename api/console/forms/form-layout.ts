import type { Rows } from '../../areas.ts';
import type { Sent } from '../../http/ask.ts';

/** How a field is shown. What is missing follows from the schema of the field. */
export type FieldLook = {
  readonly label?: string;
  /** One sentence for people; null if the label says all. */
  readonly help?: string | null;
  /** The word for an empty value, such as `No limit`. */
  readonly none?: string;
  /** What the summary of a form shows in place of an id without a word or a name. */
  readonly other?: string;
  /** Whether the summary of a form lists the field even if it is empty. */
  readonly isListed?: true;
  readonly placeholder?: string;
  /** The words that people see for the allowed values. */
  readonly words?: Readonly<Record<string, string>>;
  /** What each value means. The values are then shown as cards, each with this sentence. */
  readonly cards?: Readonly<Record<string, string>>;
  /** Shows the values as tiles in a row instead of a list to open. */
  readonly isTiles?: true;
  /** Several values can be chosen. The form then runs its operation once for each. At most one field of a form has this. */
  readonly isSeveral?: true;
  /** What browsers help to type: a time of day, or a URL. */
  readonly type?: 'time' | 'url';
  /** A text with several lines, of this many at first; 0 for one line. */
  readonly rows?: number;
  /** How the members of a group are shown. They are then in two columns. */
  readonly members?: Readonly<Record<string, FieldLook>>;
  /** The kind of guardrail rule that has this option. */
  readonly ofKind?: string;
  /** The form fills the field in if it stays empty, so that people need not. */
  readonly isDerived?: true;
};

/** One of several ways to fill in a part of a form. Only the fields of the chosen way are shown and sent. */
export type Option<Key extends string> = {
  readonly value: string;
  readonly label: string;
  readonly fields: readonly (Key | readonly Key[])[];
  /** The fields of it that may stay empty. */
  readonly optional?: readonly Key[];
  /** The fields that this way sets. A value that begins with `:` is the name of a path parameter whose value is used. */
  readonly sets?: Partial<Readonly<Record<Key, unknown>>>;
};

export type OneOf<Key extends string> = { readonly name: string; readonly legend: string; readonly options: readonly Option<Key>[] };

/** The fields of an inner array are shown in one row. */
export type Item<Key extends string> = Key | readonly Key[] | OneOf<Key>;

export type Section<Key extends string> = {
  readonly title?: string;
  readonly items: readonly Item<Key>[];
  /** Whether the section is among the further settings, which are closed at first. */
  readonly isMore?: true;
};

/**
 * The layout of a form. Fields that no section names are among the further settings, so that none is lost. A field in
 * `shownIf` is shown and sent only if another field has one of these values.
 */
export type FormLayout<Key extends string = string> = {
  readonly title?: string;
  readonly intro?: string;
  /** What the button says: the act, with its object. */
  readonly submit: string;
  readonly sections: readonly Section<Key>[];
  readonly fields?: Partial<Readonly<Record<Key, FieldLook>>>;
  readonly shownIf?: Partial<Readonly<Record<Key, { readonly field: Key; readonly is: readonly string[] }>>>;
  /** The title of the fields that no section names. Those that have a value are listed above the others. */
  readonly summary?: string;
  /** What happens after the form was sent, in the order of time. */
  readonly steps?: readonly (readonly [when: string, what: string])[];
  /** Shows the difference, and what the preview says about it, before the form can be saved. */
  readonly isReviewed?: true;
  /** A field that is derived from another one if it stays empty: the lower-case letters, digits and hyphens of its text. */
  readonly slug?: { readonly of: Key; readonly to: Key };
};

/** The names of the fields in the body of an operation. */
type BodyKey<Id extends keyof Rows> = keyof Omit<Sent<{ path: ''; body: Rows[Id] extends { body?: infer Body } ? Body : never }>, never> &
  string;

/** Defines the layout of an operation's form. The compiler checks that the operation has the fields that it names. */
export const formLayout = <const Id extends keyof Rows>(id: Id, layout: FormLayout<BodyKey<Id>>): Readonly<Record<Id, FormLayout>> =>
  ({ [id]: layout }) as unknown as Readonly<Record<Id, FormLayout>>;
