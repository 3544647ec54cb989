import type { Operation } from '../http/operation.ts';
import { type IconName, icon } from './parts/icon.ts';
import { type Child, tags } from './parts/tags.ts';
import { type MayOnAgent, mayCall } from './permission.ts';
import type { Visit } from './visit.ts';

const { a, button, form, input, dialog, div, h2, p, span } = tags;

/** The path parameters of an operation. For a link to a form, they can also contain initial values of its fields. */
export type ActionParams = Readonly<Record<string, string>>;

type Look = {
  readonly icon?: IconName;
  /**
   * The style of the link or button. `primary`: the main action of a page. `danger`: an action that removes something.
   */
  readonly look?: 'primary' | 'danger' | 'small' | 'ghost' | 'ghost small' | 'ghost small marked';
  /**
   * The page to show after the change; by default, the page of the resource. Ignored if the change creates a resource:
   * in this case, the page of the new resource is shown.
   */
  readonly returnTo?: string;
  /** The page to show after the change, even after the creation of a resource. It takes precedence over `returnTo`. */
  readonly next?: string;
  /** Whether the link or button is focused when the page opens. */
  readonly isFirst?: boolean;
  /**
   * Decides about the visitor's permissions on an agent. Without it, actions that need such a permission are hidden.
   */
  readonly onAgent?: MayOnAgent | undefined;
};

export type ActionLook = Look & {
  /** The question of the dialog that opens before the change. Without it, the button acts at once. */
  readonly confirm?: string;
  /** Whether only the icon is visible. The label is then for screen readers. */
  readonly isIconOnly?: boolean;
  /** The fields of the request body. */
  readonly body?: Readonly<Record<string, string>>;
};

/** For each table of operations, the ids of its rows. They are cached because a list has a button in every row. */
const idsOfRows = new WeakMap<Visit['rows'], ReadonlyMap<Operation, string>>();

/** Returns the operation id of a row in the tables of operations. */
const operationIdOf = ({ rows }: Pick<Visit, 'rows'>, row: Operation): string => {
  let ids = idsOfRows.get(rows);
  if (!ids) {
    ids = new Map(Object.entries(rows as unknown as Readonly<Record<string, Operation>>).map(([id, one]) => [one, id]));
    idsOfRows.set(rows, ids);
  }
  return ids.get(row) ?? '';
};

/**
 * Whether an action is shown. Pages of the past have no forms and buttons, because a change always applies to the
 * present.
 */
const isShown = (visit: Visit, row: Operation, onAgent: MayOnAgent | undefined): boolean =>
  !visit.query.has('as_of') && mayCall(visit, row, onAgent);

const classOf = (...names: (string | undefined)[]): string => names.filter((name) => name !== undefined).join(' ');

/**
 * Returns a link to the form of an operation; null if the visitor may not call the operation. `params` are initial
 * values of the form.
 */
export const formLink = (visit: Visit, row: Operation, params: ActionParams, label: string, look: Look = {}): Child => {
  if (!isShown(visit, row, look.onAgent)) return null;
  const to: Record<string, string> = look.next ? { next: look.next } : { return_to: look.returnTo ?? visit.path };
  const query = new URLSearchParams({ ...params, ...to });
  const content = [look.icon ? icon(look.icon) : null, span(null, label)];
  const href = `/console/run/${operationIdOf(visit, row)}?${query}`;
  return a({ class: classOf('button', look.look), href, autofocus: look.isFirst ?? null }, ...content);
};

/**
 * Returns a button that calls an operation; null if the visitor may not call the operation. With `confirm`, a dialog
 * asks before the call. It needs no JavaScript.
 */
export const actionButton = (visit: Visit, row: Operation, params: ActionParams, label: string, look: ActionLook = {}): Child => {
  if (!isShown(visit, row, look.onAgent)) return null;
  const operation = operationIdOf(visit, row);
  const hidden = (name: string, value: string) => input({ type: 'hidden', name, value });
  const fields = [
    ...Object.entries(params).map(([name, value]) => hidden(`:${name}`, value)),
    ...Object.entries(look.body ?? {}).map(([name, value]) => hidden(`/${name}`, value)),
    ...(row.method === 'post' ? [hidden('_key', crypto.randomUUID())] : []),
    look.next ? hidden('_next', look.next) : hidden('_return', look.returnTo ?? visit.path),
  ];
  const content = [look.icon ? icon(look.icon) : null, span({ class: look.isIconOnly ? 'hidden' : '' }, label)];
  const act = (...children: Child[]) =>
    form({ method: 'post', action: `/console/run/${operation}`, class: 'action', 'data-form': operation }, ...fields, ...children);
  if (look.confirm === undefined) return act(button({ class: classOf(look.look), autofocus: look.isFirst ?? null }, ...content));
  const id = `confirm-${operation}-${Object.values(params).at(-1) ?? ''}`;
  return span(
    { class: 'action' },
    button({ type: 'button', class: classOf(look.look) || null, popovertarget: id }, ...content),
    dialog(
      { id, popover: 'auto', class: 'confirm', 'aria-labelledby': `${id}-title` },
      h2({ id: `${id}-title` }, `${label}?`),
      p(null, look.confirm),
      div(
        { class: 'actions' },
        act(button({ class: look.look === 'danger' ? 'danger' : 'primary', autofocus: true }, label)),
        button({ type: 'button', popovertarget: id, popovertargetaction: 'hide' }, 'Cancel'),
      ),
    ),
  );
};
