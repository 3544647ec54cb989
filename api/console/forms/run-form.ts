import type { Context, Hono } from 'hono';
import type { Answer, Problem } from '../../http/ask.ts';
import { readFormText } from '../../http/read-form.ts';
import { UPLOAD_FIELD } from '../../http/upload-route.ts';
import { assertOwnPage } from '../../identity/sign-in-cookies.ts';
import { type ConsoleDeps, redirect, refuse, signInAgain } from '../answers.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { withQuery } from '../visit.ts';
import type { Form } from './form.ts';
import { answerView } from './form-answer.ts';
import { bodyOf, changedFields, isSame, queryOf } from './form-body.ts';
import { askPreview, type Companion, companionOf, type Preview, previewOf, suggestedFor } from './form-companion.ts';
import { conflictView, isSaved, merged, readLastChange } from './form-conflict.ts';
import { doneNote, sendEach } from './form-each.ts';
import { problemList } from './form-errors.ts';
import { finishInvite } from './form-invite.ts';
import { formFor } from './form-layouts.ts';
import { fieldsOfLink, prefilled } from './form-link.ts';
import { type DrawnForm, pastFormPage, secretPage, shownBeforePage } from './form-page.ts';
import { askAny, readBefore } from './form-read.ts';
import { withRowsEdited } from './form-rows.ts';
import { draw, isLikeUnknown, newKey, type Run, show, showUnknown, startRun } from './form-run.ts';
import { afterToken, jobPath, resultPath } from './form-target.ts';
import { TYPED_NAME, typedNameErrors } from './form-typed-name.ts';
import { ruleReview } from './guardrail-editor.ts';
import { saveParts } from './guardrail-trial.ts';
import { providerPreview } from './provider-preview.ts';
import { runnerCommand } from './runner-command.ts';

const MAX_FORM_BYTES = 4 * 1_024 * 1_024;

/** The error of a form that has only the name of a chosen file, because it was sent with a button that uploads no files. */
const FILE_NOT_ADDED = {
  status: 422,
  code: 'invalid',
  title: 'The chosen file was not added yet',
  detail: 'Nothing was sent, so that the file is not left out: go back, add the file or clear its field, and then send the form',
} as const;

const showForm = (deps: ConsoleDeps) => async (c: Context) => {
  const name = c.req.param('operation') ?? '';
  const known = Object.hasOwn(deps.operations, name)
    ? formFor(name, deps.operations[name]!)
    : { path: [], query: [], body: null, layout: null };
  const fields = fieldsOfLink(new URL(c.req.url), known);
  const run = await startRun(c, deps, fields);
  if (run instanceof Response) return run;
  const { visit, form, params, operation, row } = run;
  if (visit.query.has('as_of')) return show(run, pastFormPage(row.summary, withQuery(visit, { as_of: null })), 409);
  const read = await readBefore(visit, deps.operations, { operation, form, params });
  const problem = read && !read.answer.ok ? read.answer.problem : null;
  if (problem && isLikeUnknown(problem)) return showUnknown(c, deps, visit);
  const drawn = read?.before.value;
  const suggested = await suggestedFor(visit, operation);
  const value =
    typeof drawn === 'object' && drawn !== null && !Array.isArray(drawn)
      ? { ...drawn, ...prefilled(form, fields) }
      : (drawn ?? { ...suggested.value, ...prefilled(form, fields) });
  return show(
    run,
    await draw(run, {
      value,
      drawn,
      etag: read?.before.etag ?? suggested.etag,
      query: queryOf(form, fields),
      problem,
      ...(await firstPanel(run, value)),
    }),
    problem?.status,
  );
};

type Sent = Pick<DrawnForm, 'drawn' | 'etag' | 'key' | 'query' | 'typedName'> & {
  readonly body: unknown;
  /** How many requests of this form have succeeded before one was refused. */
  readonly done?: number;
};

const isGroup = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns the fields of a body that are sent. If the resource could be read before, these are the changed and the
 * required fields; otherwise, all fields.
 */
const sentFields = (form: Form, { body, drawn, etag }: Sent): object => {
  if (Array.isArray(body)) return { items: body };
  if (!isGroup(body)) return {};
  if (etag === null || !isGroup(drawn) || form.body?.kind !== 'group') return body;
  const required = form.body.fields
    .filter(({ isRequired, name }) => isRequired && Object.hasOwn(body, name))
    .map(({ name }) => [name, body[name]]);
  return { ...Object.fromEntries(required), ...changedFields(body, drawn) };
};

/**
 * Matches the ids of operations that record nothing. Their forms send no Idempotency-Key, because the key would be
 * recorded.
 */
const RECORDS_NOTHING = /^(preview|test|try)[A-Z]/;

const headersOf = ({ row, operation }: Run, { key, etag }: Sent): Record<string, string> => ({
  ...((row.method === 'post' && !RECORDS_NOTHING.test(operation)) || row.oneTimeSecret ? { 'idempotency-key': key } : {}),
  ...(etag !== null && !row.noETag ? { 'if-match': etag } : {}),
});

const sendOnce = (run: Run, sent: Sent): Promise<Answer<unknown>> => {
  const { visit, row, form, params } = run;
  const inPath = Object.fromEntries(form.path.map((name) => [name, params[name] ?? '']));
  return askAny(visit)(row, { ...sentFields(form, sent), ...sent.query, ...inPath }, { headers: headersOf(run, sent) });
};

/** Shows a new secret. For a runner key, also shows the command that starts a runner with it. */
const showSecret = async (run: Run, reply: unknown, target: string): Promise<Response> => {
  const { visit, operation, params, row } = run;
  const path = { tenant_id: params.tenant_id!, agent_id: params.agent_id! };
  const agent = operation === 'createRunnerKey' ? await visit.ask(visit.rows.getAgent, path) : null;
  const { key } = (reply ?? {}) as { key?: string };
  const command = agent?.ok && key ? runnerCommand(visit.origin, agent.value.slug, key) : null;
  return show(run, secretPage(row, reply, { target, command }));
};

/** What a form shows beside its fields, and how many deliveries it is about. */
type Shown = Pick<DrawnForm, 'panel' | 'total'>;

const shownAnswer = async (...[operation, reply, visit, sent]: Parameters<typeof answerView>): Promise<Shown> => {
  const { total } = (isGroup(reply) ? reply : {}) as { readonly total?: unknown };
  return { panel: await answerView(operation, reply, visit, sent), total: typeof total === 'number' ? total : undefined };
};

/** Gives a new member their roles on agents, and shows the invitation link. Null if there is no link. */
const showInvited = async (run: Run, answer: Answer<unknown> & { ok: true }, fields: URLSearchParams): Promise<Response | null> => {
  const { visit, deps, params, row } = run;
  const invited = await finishInvite(visit, answer.value as Parameters<typeof finishInvite>[1], fields);
  if (!invited?.invitation.ok) return null;
  const { value, headers } = invited.invitation;
  const own = run.next ?? run.returnTo ?? resultPath(row, deps.pages, { params, reply: answer.value });
  const target = afterToken(own, headers.get('consistency-token'));
  const note = invited.refused.length === 0 ? null : problemList('Some roles were not given', invited.refused);
  return show(run, secretPage(visit.rows.issueInvitation, value, { target, command: null, note }));
};

/** Shows the form with a result beside it. The form keeps what was typed. It gets a new key for the next request. */
const showAnswer = async (run: Run, { body, key: _, ...kept }: Sent, shown: Promise<Shown>, openRow?: string): Promise<Response> =>
  show(run, await draw(run, { ...kept, value: body, openRow, ...(await shown) }));

const showResult = (run: Run, sent: Sent, answer: Answer<unknown> & { ok: true }): Promise<Response> | Response => {
  const { c, deps, visit, operation, row, params, returnTo, next } = run;
  const job = jobPath(row, params, answer.value);
  const own = job ?? resultPath(row, deps.pages, { params, reply: answer.value });
  const returns = returnTo && row.status !== 201 && job === null;
  const target = afterToken(next ?? (returns ? returnTo : own), answer.headers.get('consistency-token'));
  if (row.oneTimeSecret && answer.status !== 204) return showSecret(run, answer.value, target);
  const isUnrecorded = next === null && !row.location && answer.headers.get('consistency-token') === null;
  if (row.noETag && row.reply && (isUnrecorded || RECORDS_NOTHING.test(operation)))
    return showAnswer(run, sent, shownAnswer(operation, answer.value, visit, isGroup(sent.body) ? sent.body : {}));
  return redirect(c, target);
};

/**
 * Shows what somebody else has changed meanwhile. If the resource already has the visitor's values, the change counts
 * as saved.
 */
const showConflict = async (run: Run, sent: Sent, problem: Problem): Promise<Response> => {
  const { visit, deps, operation, form, params, row } = run;
  const { typedName } = sent;
  const read = await readBefore(visit, deps.operations, { operation, form, params });
  const theirs = read?.before.value;
  if (!read?.answer.ok || !isGroup(theirs) || !isGroup(sent.body) || !isGroup(sent.drawn))
    return show(
      run,
      await draw(run, { value: sent.body, drawn: theirs ?? sent.drawn, etag: read?.before.etag ?? null, typedName, problem }),
      problem.status,
    );
  const conflict = { yours: sent.body, theirs, before: sent.drawn };
  const target = run.returnTo ?? resultPath(row, deps.pages, { params, reply: {} });
  if (isSaved(conflict)) return redirect(run.c, afterToken(target, read.answer.position));
  const last = await readLastChange(visit, deps.operations, { operation, params });
  const content = await draw(run, { value: merged(conflict), drawn: theirs, etag: read.before.etag, typedName }, [
    conflictView(conflict, last, visit),
  ]);
  return show(run, content, problem.status);
};

const showProblem = async (run: Run, sent: Sent, { problem, status, headers }: Answer<unknown> & { ok: false }): Promise<Response> => {
  const { c, deps, visit, row, params } = run;
  if (status === 401) return signInAgain(c, visit, true);
  if (isLikeUnknown(problem) && !sent.done) return showUnknown(c, deps, visit);
  if (problem.code === 'secret_already_shown') {
    const at = headers.get('location');
    const own = resultPath(at ? { ...row, location: at } : row, deps.pages, { params, reply: {} });
    return show(run, shownBeforePage(run.next ?? run.returnTo ?? own));
  }
  if (status === 412 && sent.etag !== null && !row.noETag) return showConflict(run, sent, problem);
  // After a server error, it is unknown whether the request took effect. The next attempt uses the same
  // Idempotency-Key, so that it takes effect only once.
  const key = status >= 500 ? sent.key : newKey();
  const shown = { ...sent, value: sent.body, key, errors: problem.errors ?? [], problem };
  return show(run, await draw(run, shown, [doneNote(sent.done)]), status);
};

/**
 * Returns what the form would do, to show it when the form opens. Null if the form does not show this at once, or if it
 * was opened from another site: browsers then send no header that allows this call.
 */
const firstPanel = async (run: Run, body: unknown): Promise<Shown> => {
  const { c, deps, visit } = run;
  const preview = await previewOf(visit, deps.operations, run);
  if (!preview?.isFirst || c.req.header('sec-fetch-site') !== 'same-origin') return { panel: null };
  const { answer, sent } = await askPreview(visit, deps.operations, { preview, params: run.params, body });
  return answer.ok ? shownAnswer(preview.operation, answer.value, visit, sent) : { panel: problemPanel(answer.problem) };
};

/** Shows how the form differs from the present state, and what its preview says, with the button that saves it. */
const showReview = async (run: Run, sent: Sent, preview: Preview | null): Promise<Response> => {
  const { visit, deps, params } = run;
  const tried = preview && (await askPreview(visit, deps.operations, { preview, params, body: sent.body }));
  if (tried && !tried.answer.ok) return showProblem(run, sent, tried.answer);
  const trial = tried?.answer.ok ? await answerView(preview!.operation, tried.answer.value, visit, tried.sent) : null;
  return show(run, await draw(run, { ...sent, value: sent.body, review: ruleReview(sent.drawn, sent.body, trial) }));
};

/** Shows the form with what it would do. `row` is the pointer of the only row of a list that is tried; null for all. */
const showPreview = async (run: Run, sent: Sent, preview: Preview, row: string | null = null): Promise<Response> => {
  const { visit, deps, form, params } = run;
  if (preview.isOwn) {
    const own = providerPreview(isGroup(sent.body) ? sent.body : {});
    if ('panel' in own) return showAnswer(run, sent, Promise.resolve({ panel: own.panel }));
    return show(run, await draw(run, { ...sent, value: sent.body, errors: own.errors }), 422);
  }
  const missing = form.path.filter((name) => !params[name]);
  if (missing.length > 0) {
    const errors = missing.map((name) => ({ pointer: `/${name}`, message: 'must be chosen first' }));
    return show(run, await draw(run, { ...sent, value: sent.body, errors }), 422);
  }
  const only = row === null ? undefined : Number(row.slice(1));
  const { answer, sent: fields } = await askPreview(visit, deps.operations, { preview, params, body: sent.body, only });
  if (!answer.ok) return showProblem(run, sent, answer);
  return showAnswer(run, sent, shownAnswer(preview.operation, answer.value, visit, fields), row ?? undefined);
};

/** Saves the fields of a form with the operations of its second button. What is refused is shown in the same form. */
const saveCompanion = async (run: Run, sent: Sent, { parts }: Companion): Promise<Response> => {
  const { c, deps, visit, operation, params } = run;
  const body = isGroup(sent.body) ? sent.body : {};
  const { token, refused, etags } = await saveParts(visit, parts, { body, etags: sent.etag, params });
  if (!refused) {
    const own = resultPath(deps.operations[parts[0]!.operation]!, deps.pages, { params, reply: {} });
    return redirect(c, afterToken(run.returnTo ?? own, token));
  }
  const { etag } = refused.status === 412 ? await suggestedFor(visit, operation) : { etag: etags };
  return showProblem(run, { ...sent, etag, drawn: undefined }, refused);
};

const parsedJson = (text: string | null): unknown => {
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const runForm = (deps: ConsoleDeps) => async (c: Context) => {
  assertOwnPage(c, deps.cookies);
  const fields = new URLSearchParams(await readFormText(c.req.raw, MAX_FORM_BYTES));
  if (new URL(c.req.url).searchParams.has('as_of') || fields.has('as_of'))
    return refuse(c, deps, { status: 409, title: 'The past cannot be changed', detail: 'Open the page without as_of.', code: 'conflict' });
  if (fields.get(UPLOAD_FIELD)) return refuse(c, deps, FILE_NOT_ADDED);
  const run = await startRun(c, deps, fields);
  if (run instanceof Response) return run;
  const { form, visit, operation } = run;
  const drawn = parsedJson(fields.get('_drawn'));
  const { value: body, errors: ofBody } = bodyOf(form, fields, drawn);
  const typedName = fields.get(TYPED_NAME) ?? '';
  const controls = { etag: fields.get('_etag'), key: fields.get('_key') ?? newKey(), query: queryOf(form, fields), typedName };
  const sent: Sent = { body, drawn, ...controls };
  const errors = [...ofBody, ...(await typedNameErrors(run, deps.operations, typedName))];
  // A browser that has signed in again fills the form in again.
  if (fields.has('_again')) return show(run, await draw(run, { ...sent, value: body, omitted: fields.getAll('_omitted') }));
  const edited = fields.has('_edit') ? body : withRowsEdited(fields, body);
  if (edited !== null) return show(run, await draw(run, { ...sent, value: edited }));
  const isEdited = fields.has('_reviewed') && !fields.has('_try') && !isSame(parsedJson(fields.get('_reviewed')), body);
  const isReview = form.layout?.isReviewed === true && (fields.has('_review') || isEdited);
  const preview = isReview || fields.has('_preview') || fields.has('_try') ? await previewOf(visit, deps.operations, run) : null;
  const found = preview?.fields ? errors.filter(({ pointer }) => preview.fields!.includes(pointer.split('/')[1]!)) : errors;
  if (found.length > 0) return show(run, await draw(run, { ...sent, value: body, errors: found }), 422);
  if (isReview) return showReview(run, sent, preview);
  if (preview) return showPreview(run, sent, preview, fields.get('_try'));
  const companion = fields.has('_save') ? await companionOf(visit, deps.operations, run) : null;
  if (companion) return saveCompanion(run, sent, companion);
  const { answer, body: rest, done } = await sendEach(form, sent, (one) => sendOnce(run, one));
  if (!answer.ok) return showProblem(run, { ...sent, body: rest, done }, answer);
  return (operation === 'inviteMember' ? await showInvited(run, answer, fields) : null) ?? showResult(run, sent, answer);
};

/** Adds the routes of the forms. Each operation that changes something has a form at /console/run/{operation}. */
export const mountForms = (app: Hono, deps: ConsoleDeps): void => {
  app.get('/console/run/:operation', showForm(deps));
  app.post('/console/run/:operation', runForm(deps));
};
