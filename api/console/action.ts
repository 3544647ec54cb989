import type { Operation } from '../http/operation.ts';
import { type IconName, icon } from './parts/icon.ts';
import { type Child, tags } from './parts/tags.ts';
import { type MayOnAgent, mayCall } from './permission.ts';
import type { Visit } from './visit.ts';

const { a, button, form, input, dialog, div, h2, p, span } = tags;

/** Path parameters of an operation and, for a form, the values with which its fields are filled. */
export type ActionParams = Readonly<Record<string, string>>;

type Look = {
  readonly icon?: IconName;
  /** `primary` for the main action of a page, `danger` for one that takes something away. */
  readonly look?: 'primary' | 'danger' | 'small' | 'ghost' | 'ghost small' | 'ghost small marked';
  /** The page after the change; otherwise that of the resource. A new resource is shown in any case. */
  readonly returnTo?: string;
  /** The page after the change, also after one that creates a resource. */
  readonly next?: string;
  /** Whether the link or button has the focus when the page opens. */
  readonly isFirst?: boolean;
  /** Decides the permissions on an agent; without it, an action on an agent is not shown. */
  readonly onAgent?: MayOnAgent | undefined;
};

export type ActionLook = Look & {
  /** What a dialog asks before the change. Without it, the button acts at once. */
  readonly confirm?: string;
  /** Whether only the icon is shown; the label is read out. */
  readonly isIconOnly?: boolean;
  /** The fields of the body. */
  readonly body?: Readonly<Record<string, string>>;
};

/** The id of an operation in the table, by its row. */
const operationIdOf = ({ rows }: Pick<Visit, 'rows'>, row: Operation): string =>
  Object.entries(rows as unknown as Readonly<Record<string, Operation>>).find(([, one]) => one === row)?.[0] ?? '';

/** Forms and buttons are for the present: a page of the past shows none. */
const isShown = (visit: Visit, row: Operation, onAgent: MayOnAgent | undefined): boolean =>
  !visit.query.has('as_of') && mayCall(visit, row, onAgent);

const classOf = (...names: (string | undefined)[]): string => names.filter((name) => name !== undefined).join(' ');

/** A link to the form of an operation; null if the visitor may not call it. `params` fills in its fields. */
export const formLink = (visit: Visit, row: Operation, params: ActionParams, label: string, look: Look = {}): Child => {
  if (!isShown(visit, row, look.onAgent)) return null;
  const to: Record<string, string> = look.next ? { next: look.next } : { return_to: look.returnTo ?? visit.path };
  const query = new URLSearchParams({ ...params, ...to });
  const content = [look.icon ? icon(look.icon) : null, span(null, label)];
  const href = `/console/run/${operationIdOf(visit, row)}?${query}`;
  return a({ class: classOf('button', look.look), href, autofocus: look.isFirst ?? null } as never, ...content);
};

/**
 * A button that calls an operation; null if the visitor may not call it. With `confirm`, a dialog asks first. It opens
 * and closes without script.
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
