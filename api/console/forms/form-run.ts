import type { Context } from 'hono';
import type { Problem } from '../../http/ask.ts';
import { isRead, type Operation } from '../../http/operation.ts';
import { type ConsoleDeps, consolePath, framedResponse, identify } from '../answers.ts';
import { refusedPage } from '../break-glass.ts';
import { RECENT_SIGN_IN } from '../parts/problem-panel.ts';
import type { Child } from '../parts/tags.ts';
import { mayRun } from '../permission.ts';
import { platformPath, type Visit } from '../visit.ts';
import type { Form } from './form.ts';
import { titleOf } from './form-acts.ts';
import { readChoices } from './form-choices.ts';
import { companionOf, previewOf } from './form-companion.ts';
import { inviteFields } from './form-invite.ts';
import { formFor } from './form-layouts.ts';
import { type DrawnForm, formPage } from './form-page.ts';
import { readSubject } from './form-read.ts';
import { resultPath } from './form-target.ts';
import { errorInWords } from './form-values.ts';
import { readNotes } from './guardrail-editor.ts';

/** One request to show or to submit a form. */
export type Run = {
  readonly c: Context;
  readonly deps: ConsoleDeps;
  readonly visit: Visit;
  readonly operation: string;
  readonly row: Operation;
  readonly form: Form;
  readonly params: Readonly<Record<string, string>>;
  /**
   * The page to show after the change. It is ignored if the change creates a resource: in this case, the page of the
   * new resource is shown.
   */
  readonly returnTo: string | null;
  /** The page to show after the change, even after the creation of a resource. It takes precedence over `returnTo`. */
  readonly next: string | null;
  /** The chosen option of each one-of (a choice between groups of fields) of a submitted form. */
  readonly chosen: Readonly<Record<string, string>>;
};

/** Shows a page of a form in the frame. */
export const show = async (
  { c, deps, visit, row, form }: Pick<Run, 'c' | 'deps' | 'visit'> & { readonly row: Operation; readonly form: Form },
  content: readonly Child[],
  status = 200,
): Promise<Response> => {
  const { tenant_id: _, ...params } = visit.params;
  const frame = { title: titleOf(row, form), nav: '', content, status };
  // The forms of platform operations have the navigation of the platform, even if they are about a tenant.
  if (/^(?:\/api\/v1)?\/admin\//.test(row.path))
    return framedResponse(c, deps, { ...visit, params, breakGlass: null }, { ...frame, trail: [['Platform', platformPath()]] });
  return framedResponse(c, deps, visit, { ...frame, trail: [] });
};

/** Shows the page of an unknown path, or why the visitor can no longer read the tenant. */
export const showUnknown = (c: Context, deps: ConsoleDeps, visit: Visit): Promise<Response> =>
  framedResponse(c, deps, visit, { ...refusedPage(visit), status: 404 });

/**
 * Finds the operation of a form, and checks that the visitor may call it. If not, returns the response that says so.
 */
export const startRun = async (c: Context, deps: ConsoleDeps, fields: URLSearchParams): Promise<Run | Response> => {
  const operation = c.req.param('operation') ?? '';
  const row = Object.hasOwn(deps.operations, operation) ? deps.operations[operation]! : null;
  const form = row && !isRead(row) ? formFor(operation, row) : null;
  const given = [...fields].flatMap(([name, value]) => (/^:[a-z_]+$/.test(name) && value !== '' ? [[name.slice(1), value] as const] : []));
  const params = Object.fromEntries(given);
  const visit = await identify(c, deps, params);
  if (visit instanceof Response) return visit;
  if (!row || !form || !(await mayRun(visit, row, params))) return showUnknown(c, deps, visit);
  const pathIn = (name: string) => (fields.get(name) ? consolePath(fields.get(name)) : null);
  const chosen = Object.fromEntries([...fields].flatMap(([name, value]) => (name.startsWith('_one/') ? [[name.slice(5), value]] : [])));
  return { c, deps, visit, operation, row, form, params, chosen, returnTo: pathIn('_return'), next: pathIn('_next') };
};

/** Returns a new Idempotency-Key. */
export const newKey = (): string => crypto.randomUUID();

/** Whether a problem is shown like an unknown path, so that it reveals nothing. */
export const isLikeUnknown = ({ status, code }: Problem): boolean => [403, 404].includes(status) && code !== RECENT_SIGN_IN;

/** Renders the form of a run. */
export const draw = async (run: Run, shown: Partial<DrawnForm>, before: readonly Child[] = []): Promise<readonly Child[]> => {
  const { visit, deps, operation, row, form, params } = run;
  const { operations } = deps;
  const [choices, companion, preview, subject, extra, notes] = await Promise.all([
    readChoices(visit, form, { operations, params }),
    companionOf(visit, operations, { operation, params }),
    previewOf(visit, operations, { operation, params }),
    readSubject(visit, operations, { row, params }),
    inviteFields(visit, operation),
    // An open form requests its preview while people type, and takes only the panel of the answer.
    shown.panel && shown.openRow === undefined ? undefined : readNotes(visit, operation, shown.drawn),
  ]);
  const returnTo = run.next ?? run.returnTo ?? resultPath(row, deps.pages, { params, reply: {} });
  const drawn = { value: undefined, query: {}, drawn: undefined, etag: null, key: newKey(), errors: [], problem: null, panel: null };
  const path = `/console/run/${operation}?${new URLSearchParams({ ...params, ...(run.next ? { next: run.next } : { return_to: returnTo }) })}`;
  return formPage(
    {
      ...{ ...drawn, operation, row, form, params, choices, companion, preview, subject, returnTo, next: run.next, path },
      ...{ extra, notes, zone: visit.zone, chosen: run.chosen, ...shown, errors: (shown.errors ?? []).map(errorInWords(form)) },
    },
    ...before,
  );
};
