import type { Operation } from '../http/operation.ts';
import { type IconName, icon } from './parts/icon.ts';
import { type Child, tags } from './parts/tags.ts';
import { type MayOnAgent, mayCall } from './permission.ts';
import type { Visit } from './visit.ts';

const { a, button, form, input, dialog, div, h2, p, span } = tags;

/** The path parameters of an operation. For a form, also the values with which its fields are filled in. */
export type ActionParams = Readonly<Record<string, string>>;

type Look = {
  readonly icon?: IconName;
  /**
   * The style of the link or button: `primary` for the main action of a page, `danger` for an action that removes
   * something.
   */
  readonly look?: 'primary' | 'danger' | 'small' | 'ghost' | 'ghost small' | 'ghost small marked';
  /**
   * The page to show after the change. By default, the page of the resource. After the creation of a resource, its page
   * is shown in any case.
   */
  readonly returnTo?: string;
  /** The page to show after the change, even if the change creates a resource. */
  readonly next?: string;
  /** Whether the link or button has the focus when the page opens. */
  readonly isFirst?: boolean;
  /** Decides about permissions on an agent. If it is absent, actions on agents are not shown. */
  readonly onAgent?: MayOnAgent | undefined;
};

export type ActionLook = Look & {
  /** The question of a dialog before the change. If it is absent, the button acts at once. */
  readonly confirm?: string;
  /** Whether only the icon is visible. Screen readers read the label. */
  readonly isIconOnly?: boolean;
  /** The fields of the body. */
  readonly body?: Readonly<Record<string, string>>;
};

/** Returns the operation id of a row in the table. */
const operationIdOf = ({ rows }: Pick<Visit, 'rows'>, row: Operation): string =>
  Object.entries(rows as unknown as Readonly<Record<string, Operation>>).find(([, one]) => one === row)?.[0] ?? '';

/** Whether an action is shown. Pages of the past show no forms and buttons, because these always change the present. */
const isShown = (visit: Visit, row: Operation, onAgent: MayOnAgent | undefined): boolean =>
  !visit.query.has('as_of') && mayCall(visit, row, onAgent);

const classOf = (...names: (string | undefined)[]): string => names.filter((name) => name !== undefined).join(' ');

/** Returns a link to the form of an operation; null if the visitor may not call it. `params` fills in its fields. */
export const formLink = (visit: Visit, row: Operation, params: ActionParams, label: string, look: Look = {}): Child => {
  if (!isShown(visit, row, look.onAgent)) return null;
  const to: Record<string, string> = look.next ? { next: look.next } : { return_to: look.returnTo ?? visit.path };
  const query = new URLSearchParams({ ...params, ...to });
  const content = [look.icon ? icon(look.icon) : null, span(null, label)];
  const href = `/console/run/${operationIdOf(visit, row)}?${query}`;
  return a({ class: classOf('button', look.look), href, autofocus: look.isFirst ?? null } as never, ...content);
};

/**
 * Returns a button that calls an operation; null if the visitor may not call it. With `confirm`, a dialog asks first.
 * The dialog works without JavaScript.
 */
export const actionButton = (visit: Visit, row: Operation, params: ActionParams, label: string, look: ActionLook = {}): Child => {
  if (!isShown(visit, row, look.onAgent)) return null;
  const operation = operationIdOf(visit, row);
  const hidden = (name: string, value: string) => input({ type: 'hidden', name, value });
  const fields = [
    ...Object.entries(params).map(([name, value]) => hidden(`:${name}`, value)),
    ...Object.entries(look.body ?? {}).map(([name, value]) => hidden(`/${name}`, value)),
    ...(row.method === 'post' ? [hidden('_key', crypto.randomUUID())] : []),
    hidden('_return', look.returnTo ?? visit.path),
  ];
  const content = [look.icon ? icon(look.icon) : null, span({ class: look.isIconOnly ? 'hidden' : '' }, label)];
  const act = (...children: Child[]) =>
    form({ method: 'post', action: `/console/run/${operation}`, class: 'action', 'data-form': operation }, ...fields, ...children);
  if (look.confirm === undefined) return act(button({ class: classOf(look.look), autofocus: look.isFirst ?? null } as never, ...content));
  const id = `confirm-${operation}-${Object.values(params).at(-1) ?? ''}`;
  return span(
    { class: 'action' },
    button({ type: 'button', class: classOf(look.look) || null, popovertarget: id } as never, ...content),
    dialog(
      { id, popover: 'auto', class: 'confirm', 'aria-labelledby': `${id}-title` } as never,
      h2({ id: `${id}-title` }, `${label}?`),
      p(null, look.confirm),
      div(
        { class: 'actions' },
        act(button({ class: look.look === 'danger' ? 'danger' : 'primary', autofocus: true } as never, label)),
        button({ type: 'button', popovertarget: id, popovertargetaction: 'hide' } as never, 'Cancel'),
      ),
    ),
  );
};
