import type { Problem } from '../../http/ask.ts';
import type { Operation } from '../../http/operation.ts';
import { emptyState } from '../parts/empty-state.ts';
import { heading } from '../parts/heading.ts';
import { icon } from '../parts/icon.ts';
import { jsonTree } from '../parts/json-tree.ts';
import { moduleScript } from '../parts/module-script.ts';
import { copyButton } from '../parts/short-id.ts';
import { assetUrl, type Child, tags } from '../parts/tags.ts';
import type { Form } from './form.ts';
import { buttonText, consequenceOf, introOf, isDangerous, titleOf } from './form-acts.ts';
import type { Companion, Preview } from './form-companion.ts';
import type { Choices } from './form-controls.ts';
import { errorList, errorMap, type FieldErrors } from './form-errors.ts';
import { fieldView, moreFields } from './form-fields.ts';
import { type Chosen, formFields } from './form-sections.ts';
import { typedNameField } from './form-typed-name.ts';
import { ZONE_FIELD } from './form-values.ts';
import { labelOf } from './form-words.ts';
import { editsRules } from './guardrail-editor.ts';

const { form, input, button, a, div, p, h2, section, code, pre, strong, link, ol, li, span } = tags;

/** A form to render: its operation, its content, and the state of the resource on which the change is based. */
export type DrawnForm = {
  readonly operation: string;
  readonly row: Operation;
  readonly form: Form;
  readonly params: Readonly<Record<string, string>>;
  /** The name of the resource that the form is about; null if it has none. */
  readonly subject: string | null;
  /** The current values of the fields. */
  readonly value: unknown;
  readonly query: Readonly<Record<string, unknown>>;
  /** The body with which the form was rendered for the first time. */
  readonly drawn: unknown;
  readonly etag: string | null;
  readonly key: string;
  readonly returnTo: string | null;
  readonly next: string | null;
  readonly choices: Choices;
  readonly errors: FieldErrors;
  readonly problem: Problem | null;
  readonly companion: Companion | null;
  /** The operation that says what the form would do; null if there is none. */
  readonly preview: Preview | null;
  /** The result that is shown beside the form; null if there is none. */
  readonly panel: Child;
  /** The time zone in which the form shows times. */
  readonly zone: string;
  /** Returns what is shown beside a row of the form's list; undefined if nothing is. */
  readonly notes?: ((item: unknown) => string | null) | undefined;
  /** The pointer of the row that is open; undefined if none is. */
  readonly openRow?: string | undefined;
  /** What the form shows in place of its fields, which are below it, before it is saved. */
  readonly review?: readonly Child[] | undefined;
  /** What the form shows after the fields of its operation; null if nothing. */
  readonly extra: Child;
  /** The names of the fields that the browser has not kept during a new sign-in; undefined if there was none. */
  readonly omitted?: readonly string[] | undefined;
  /** The name of the object as it was typed, in forms that ask for it. */
  readonly typedName?: string | undefined;
  /** The chosen option of each one-of (a choice between groups of fields). A missing one follows from the values. */
  readonly chosen: Chosen['chosen'];
  /** The number of deliveries that the form is about; undefined if it is not known. */
  readonly total?: number | undefined;
  /** The URL of the form, including the initial values that the link to it has set. */
  readonly path: string;
};

const hidden = (name: string, value: string | null) => (value === null ? null : input({ type: 'hidden', name, value }));

/**
 * Renders the hidden fields. They contain the values of If-Match and Idempotency-Key, and the JSON of the originally
 * rendered values. From these, the submit finds out which fields the visitor has changed.
 */
const controls = ({ drawn, etag, key, returnTo, next, params, zone, review, value, form: { path } }: DrawnForm): readonly Child[] => [
  hidden('_key', key),
  hidden(ZONE_FIELD, zone === 'UTC' ? null : zone),
  hidden('_etag', etag),
  hidden('_drawn', drawn === undefined ? null : JSON.stringify(drawn)),
  // What the review is about. If the fields below it are edited, the review is shown again.
  hidden('_reviewed', review ? JSON.stringify(value) : null),
  hidden('_return', returnTo),
  hidden('_next', next),
  ...Object.entries(params)
    .filter(([name, value]) => value !== '' || !path.includes(name))
    .map(([name, value]) => hidden(`:${name}`, value)),
];

const paramField = (name: string, choices: Choices, errors: DrawnForm['errors']): Child =>
  fieldView(
    {
      ...{ kind: 'text', input: 'text', pointer: '', name, label: labelOf(name), help: null, isRequired: true, isNullable: false },
      ...{ isSecret: false, fallback: undefined, placeholder: null, min: 1, max: null, pattern: null, look: {} },
    },
    { at: `:${name}`, value: '', errors: errorMap(errors), choices },
  );

/** Says what a form removes or disables, with the name of the object. */
const consequence = ({ operation, subject }: DrawnForm): Child => {
  const texts = consequenceOf(operation, subject);
  if (texts === null) return null;
  const [before, name, after] = texts;
  return div(
    { class: 'note warn', 'data-consequence': '' },
    icon('triangle-alert'),
    p(null, before, name === '' ? null : strong(null, name), after),
  );
};

/** Renders the second button of a form, which saves its fields with other operations. */
const companionButton = ({ companion }: DrawnForm): Child => (companion ? button({ name: '_save', value: '1' }, companion.label) : null);

/** Renders the button with which people see what the form would do, if JavaScript does not show it while they type. */
const previewButton = ({ preview }: DrawnForm): Child =>
  preview?.label ? button({ name: '_preview', value: '1', formnovalidate: true }, preview.label) : null;

const tone = (operation: string): string => (isDangerous(operation) ? 'danger' : 'primary');

/** Says when the preview of a form is shown: now, if the form has values for it, or when something is typed. */
const previewTime = ({ preview, panel, value }: DrawnForm): string | null => {
  if (preview === null) return null;
  const values = (value ?? {}) as Readonly<Record<string, unknown>>;
  const hasValues = preview.isFirst ?? preview.fields?.some((name) => (values[name] ?? '') !== '') ?? false;
  return hasValues && panel === null ? 'now' : '';
};

/** Lists what happens after the form was sent, in the order of time. */
const stepList = ({ form: { layout } }: DrawnForm): Child =>
  layout?.steps ? ol({ class: 'time-line' }, ...layout.steps.map(([when, what]) => li(null, strong(null, when), span(null, what)))) : null;

/** Whether the button of the form leads to its review first. */
const isReviewedNext = ({ form: { layout }, review }: DrawnForm): boolean => layout?.isReviewed === true && review === undefined;

const reviewStep = (drawn: DrawnForm) =>
  isReviewedNext(drawn) ? { name: '_review', value: '1' } : drawn.review ? { formnovalidate: true } : {};

const actText = (drawn: DrawnForm): string =>
  isReviewedNext(drawn) ? 'Review and save' : buttonText(drawn.operation, drawn.row, drawn.form, drawn.total);

const FILLED_AGAIN = 'You have signed in again, and what you typed is here again. Nothing was sent yet.';

/** Renders the fields of a form, and the hidden ones. */
const fieldsOf = (drawn: DrawnForm): readonly Child[] => {
  const { form: fields, value, query, params, choices, errors, zone, chosen, notes, openRow, omitted } = drawn;
  const first = fields.body?.kind === 'group' ? fields.body.fields.find(({ isRequired }) => isRequired) : undefined;
  const focus = errors[0]?.pointer ?? first?.pointer;
  const lists = { notes, openRow, omitted, isTried: editsRules(drawn.operation) && drawn.preview !== null };
  const shown = { errors: errorMap(errors), choices, zone, visible: drawn.preview?.fields, focus, chosen, params, ...lists };
  const missing = fields.path.filter((name) => !params[name]);
  return [
    // The Enter key presses the first button of a form. So this hidden button comes before the buttons that edit lists.
    button({ class: 'hidden', tabindex: -1, 'aria-hidden': 'true', ...reviewStep(drawn) }, actText(drawn)),
    errorList(drawn),
    omitted === undefined ? null : div({ class: 'note', role: 'status' }, icon('info'), p(null, FILLED_AGAIN)),
    ...controls(drawn),
    consequence(drawn),
    ...missing.map((name) => paramField(name, choices, errors)),
    ...fields.query.map((field) => fieldView(field, { at: `?${field.name}`, value: query[field.name], ...shown })),
    ...formFields(fields, value, shown),
    typedNameField(drawn.operation, drawn.typedName ?? '', errors),
    drawn.extra,
    stepList(drawn),
  ];
};

const actions = (drawn: DrawnForm): Child =>
  div(
    { class: 'actions form-actions' },
    button({ class: tone(drawn.operation), 'data-act': '', ...reviewStep(drawn) }, actText(drawn)),
    drawn.review ? button({ name: '_edit', value: '1', formnovalidate: true }, 'Change the rules again') : previewButton(drawn),
    companionButton(drawn),
    a({ class: 'button', href: drawn.returnTo ?? '/console' }, 'Cancel'),
  );

const formElement = (drawn: DrawnForm, look: string, ...content: Child[]): Child =>
  form(
    {
      method: 'post',
      action: `/console/run/${drawn.operation}`,
      class: look,
      autocomplete: 'off',
      'data-form': drawn.operation,
      'data-preview': previewTime(drawn),
    },
    ...content,
  );

const NO_RESULT = 'There is no result: a field needs a change.';
const NOT_YET = 'What this does is shown here while you type, or when you press the button.';

/**
 * Renders the form of an operation, which works without JavaScript. The result of its preview, or of its operation, is
 * beside it; on narrow screens, it is above the buttons.
 */
const formView = (drawn: DrawnForm): Child => {
  const { preview, panel, problem, errors, review } = drawn;
  if (review)
    return formElement(
      drawn,
      'card form review',
      div({ class: 'review-result' }, ...review),
      moreFields('The rules', false, ...fieldsOf(drawn)),
      actions(drawn),
    );
  if (preview === null && panel === null) return formElement(drawn, 'card form', ...fieldsOf(drawn), actions(drawn));
  return [
    formElement(
      drawn,
      'form with-panel',
      div({ class: 'card form-fields' }, ...fieldsOf(drawn)),
      section(
        { class: 'form-panel', 'data-panel': '', 'aria-label': 'Result', tabindex: 0 },
        panel ?? p({ class: 'quiet', role: 'status' }, problem || errors.length > 0 ? NO_RESULT : NOT_YET),
      ),
      actions(drawn),
    ),
    preview === null ? null : moduleScript('form-preview.mjs'),
  ];
};

/** Renders the page of a form. `before` is shown above the form. */
export const formPage = (drawn: DrawnForm, ...before: Child[]): readonly Child[] => [
  link({ rel: 'stylesheet', href: assetUrl('form-page.css') }),
  heading(titleOf(drawn.row, drawn.form), introOf(drawn.row, drawn.form)),
  drawn.subject === null ? null : p({ class: 'form-subject' }, 'About ', strong(null, drawn.subject)),
  ...before,
  formView(drawn),
];

/** Renders what replaces a form whose URL has a time in the past. `present` is the URL of the form. */
export const pastFormPage = (name: string, present: string): readonly Child[] => [
  heading(name, null),
  emptyState(
    { icon: 'history', title: 'The past cannot be changed', why: 'A change always applies to the present.' },
    a({ class: 'button', href: present }, 'Open the form of the present'),
  ),
];

const isText = (value: unknown): value is string => typeof value === 'string';

/** Renders the page after a change whose response contains a secret. The secret is shown only on this page. */
export const secretPage = (
  row: Operation,
  reply: unknown,
  { target, command, note = null }: { readonly target: string; readonly command: string | null; readonly note?: Child },
): readonly Child[] => {
  const fields = Object.entries((reply ?? {}) as Record<string, unknown>);
  const isSecret = (name: string) =>
    /^(key|secret|token|seed|creds|credentials|invitation_url|url|password|link)$|_(key|secret|token|seed|url)$/.test(name);
  const found = fields.filter(([name, value]) => isSecret(name) && isText(value));
  // A link contains the other secrets, and is all that a person needs.
  const secrets = found.some(([name]) => name === 'link') ? found.filter(([name]) => name === 'link') : found;
  return [
    heading('Done', row.summary),
    note,
    section(
      { class: 'card secret', 'data-secret': '' },
      div(
        { class: 'note', role: 'status' },
        icon('key-round'),
        p(null, 'Copy this now. It is shown only on this page, and only this once.'),
      ),
      ...secrets.map(([name, value]) =>
        div(
          { class: 'secret-value' },
          h2(null, labelOf(name)),
          div({ class: 'copyable' }, code(null, String(value)), copyButton(String(value), labelOf(name))),
        ),
      ),
      command === null
        ? null
        : div(
            { class: 'secret-value' },
            h2(null, 'Start the runner'),
            p({ class: 'quiet' }, 'In another terminal. It prints each delivery, and acknowledges it.'),
            div({ class: 'copyable' }, pre(null, command), copyButton(command, 'the command')),
          ),
      div({ class: 'actions form-actions' }, a({ class: 'button primary', href: target, autofocus: true }, 'I have copied it')),
    ),
  ];
};

/** Renders the page after a repeated request for a secret. The secret cannot be shown a second time. */
export const shownBeforePage = (target: string): readonly Child[] => [
  heading('Already shown', null),
  section(
    { class: 'card' },
    p(null, 'The secret was shown once, in the answer to the first request. Nobody can read it again: make a new one if it is lost.'),
    div({ class: 'actions form-actions' }, a({ class: 'button', href: target }, 'Continue')),
  ),
];

/**
 * Renders the response of an operation that changes nothing, such as a preview. It is shown beside the form that called
 * the operation.
 */
export const answerCard = (reply: unknown): Child =>
  section({ class: 'card answer', role: 'status' }, h2(null, 'Answer'), reply === null ? p({ class: 'quiet' }, 'Done') : jsonTree(reply));
