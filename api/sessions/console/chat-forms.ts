import type { Rows } from '../../areas.ts';
import { badge } from '../../console/parts/badge.ts';
import { icon } from '../../console/parts/icon.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago, exact } from '../../console/parts/time.ts';
import { type MayOnAgent, mayCall } from '../../console/permission.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { UPLOAD_FIELD } from '../../http/upload-route.ts';

const { button, div, form, input, label, p, pre, span, strong, textarea } = tags;

export type Approval = ReplyOf<Rows['listApprovals']>[number];
type Detail = ReplyOf<Rows['getSession']>;

const OPEN = ['pending', 'running', 'waiting'];
export const isOpen = ({ session }: Detail): boolean => OPEN.includes(session.status);

/** Visitors may act in a session if they may assign work to its agent. */
export const mayAct = (visit: Visit, onAgent: MayOnAgent): boolean =>
  !visit.query.has('as_of') && mayCall(visit, visit.rows.decideApproval) && onAgent('agent:assign');

const hidden = (name: string, value: string) => input({ type: 'hidden', name, value });

type Target = {
  readonly operation: string;
  readonly params: Readonly<Record<string, string>>;
  /** The id of the part of the page that is shown after the change; by default, the page is shown from its top. */
  readonly part?: string;
  /** The Idempotency-Key; by default, a new one. */
  readonly key?: string | undefined;
};

export const WRITE_ID = 'write';

/** Renders a form that calls an operation. It works without JavaScript. */
const callForm = (visit: Visit, { operation, params, part, key = crypto.randomUUID() }: Target, ...children: Child[]) =>
  form(
    { method: 'post', action: `/console/run/${operation}`, class: 'chat-form', 'data-form': operation, autocomplete: 'off' },
    ...Object.entries(params).map(([name, value]) => hidden(`:${name}`, value)),
    hidden('_key', key),
    hidden('_return', part ? `${visit.path}#${part}` : visit.path),
    ...children,
  );

const area = (name: string, text: string, attributes: object, value = '') =>
  label({ class: 'chat-text' }, span({ class: 'quiet' }, text), textarea({ name, rows: 3, ...attributes }, value));

/** Renders the form with which a visitor decides on an open approval. */
const decisionForm = (visit: Visit, { id, session_id }: Approval) =>
  callForm(
    visit,
    { operation: 'decideApproval', params: { tenant_id: visit.params.tenant_id!, session_id, message_id: id }, part: `m-${id}` },
    area('/comment', 'Comment for the agent (optional)', { maxlength: 2_000, rows: 2 }),
    div(
      { class: 'actions' },
      button({ class: 'primary', name: '/decision', value: 'approved' }, icon('check'), 'Approve'),
      button({ class: 'danger', name: '/decision', value: 'denied' }, icon('x'), 'Deny'),
    ),
  );

/** Used if no person whose name is known has closed an approval. */
const CLOSED_BY: Readonly<Record<Exclude<Approval['status'], 'open'>, string>> = {
  approved: 'A person',
  denied: 'A person',
  expired: 'No decision in time',
  cancelled: 'The session has ended without a decision',
};

const outcomeOf = ({ status, decided_by_name, decided_by_email, decided_at, comment }: Approval): Child => {
  if (status === 'open' || !decided_at) return null;
  const who = decided_by_name ?? decided_by_email ?? CLOSED_BY[status];
  return div({ class: 'quiet' }, `${who}, `, ago(decided_at), comment ? pre({ class: 'message-text' }, comment) : null);
};

/** Renders what an agent wants to do, with the form for the decision if the visitor may decide. */
export const approvalView = (visit: Visit, approval: Approval, mayDecide: boolean): Child =>
  div(
    { class: 'approval', 'data-kind': 'approval', 'data-status': approval.status },
    div(
      { class: 'message-head' },
      icon('shield-check'),
      strong(null, approval.action ?? 'The text can no longer be decrypted.'),
      badge(approval.status),
    ),
    approval.detail ? pre({ class: 'message-text' }, approval.detail) : null,
    approval.expires_at && approval.status === 'open' ? p({ class: 'quiet' }, 'Expires ', exact(approval.expires_at)) : null,
    outcomeOf(approval),
    approval.status === 'open' && mayDecide ? decisionForm(visit, approval) : null,
  );

/** Renders the files that the visitor has just added, which the next message names. */
const chosenFiles = (visit: Visit, { attachments }: Detail): Child => {
  const chosen = new Set(visit.query.getAll('file'));
  return attachments
    .filter(({ id }) => chosen.has(id))
    .map(({ id, filename }) =>
      label(
        { class: 'chat-file' },
        input({ type: 'checkbox', name: '/attachment_ids', value: id, checked: true }),
        ` with the file ${filename}`,
      ),
    );
};

/**
 * Renders the fields that add a file to a session. They are part of the form of the message, so that the text which is
 * typed there is sent along, and shown again.
 */
const uploadFields = (visit: Visit, session_id: string) =>
  div(
    { class: 'chat-upload' },
    label(null, span({ class: 'quiet' }, 'File (at most 25 MiB)'), input({ type: 'file', name: UPLOAD_FIELD })),
    button(
      {
        'data-form': 'addSessionAttachment',
        // The files that were chosen before, so that the page shows them again.
        formaction: `${tenantPath(visit.params.tenant_id!, `/sessions/${session_id}/files`)}?${new URLSearchParams(visit.query.getAll('file').map((file) => ['file', file]))}`,
        formenctype: 'multipart/form-data',
        formnovalidate: true,
      },
      icon('plus'),
      span(null, 'Add the file'),
    ),
  );

/**
 * Renders the forms to write in a session, to add a file, or to continue the session if it has ended. People write only in
 * sessions that a person has started. `key` is the Idempotency-Key of a message that may have been sent already.
 */
export const composeForms = (visit: Visit, detail: Detail, key?: string): Child => {
  const { id, created_by_id } = detail.session;
  const params = { tenant_id: visit.params.tenant_id!, session_id: id };
  if (!isOpen(detail))
    return callForm(
      visit,
      { operation: 'continueSession', params },
      area('/message/content', 'Continue in a new session. The agent finds what was written in this one.', { required: true }),
      div({ class: 'actions' }, button({ class: 'primary' }, icon('play'), span(null, 'Continue'))),
    );
  if (created_by_id === null) return p({ class: 'quiet below' }, 'The runner has started this session, so only the runner writes in it.');
  const message = callForm(
    visit,
    { operation: 'appendMessage', params, part: WRITE_ID, key },
    hidden('/role', 'user'),
    area(
      '/content',
      'Message to the agent',
      { required: true, 'data-hotkey': 'm', 'data-key-name': 'Write a message' },
      visit.query.get('text') ?? '',
    ),
    chosenFiles(visit, detail),
    uploadFields(visit, id),
    div({ class: 'actions' }, button({ class: 'primary' }, icon('send'), span(null, 'Send'))),
  );
  return div({ class: 'chat-write', id: WRITE_ID }, message);
};

/** What a person has typed to start a session. `key` makes a form that is sent twice act once. */
export type Start = { readonly title: string; readonly content: string; readonly key: string };

const nothingTyped = (): Start => ({ title: '', content: '', key: crypto.randomUUID() });

/**
 * Renders the form with which a visitor starts a session: the message and its files are sent together. The fields with
 * text come before the files, which are read while they arrive.
 */
export const startForm = (visit: Visit, agent_id: string, { title, content, key }: Start = nothingTyped()): Child =>
  form(
    {
      method: 'post',
      action: tenantPath(visit.params.tenant_id!, `/agents/${agent_id}/sessions`),
      enctype: 'multipart/form-data',
      ...{ class: 'chat-form', 'data-form': 'startSession', autocomplete: 'off' },
    },
    hidden('_key', key),
    area('/message/content', 'First message to the agent', { required: true }, content),
    label(
      { class: 'chat-text' },
      span({ class: 'quiet' }, 'Title (optional; unlike the message, it is not encrypted)'),
      input({ type: 'text', name: '/title', maxlength: 255, value: title }),
    ),
    label(
      { class: 'chat-text' },
      span({ class: 'quiet' }, 'Files (optional, each at most 25 MiB)'),
      input({ type: 'file', name: UPLOAD_FIELD, multiple: true }),
    ),
    div({ class: 'actions' }, button({ class: 'primary' }, icon('play'), span(null, 'Start the session'))),
  );
