import type { Context, Hono } from 'hono';
import type { Rows } from '../../areas.ts';
import { type ConsoleDeps, htmlResponse, requestedVisit } from '../../console/answers.ts';
import { afterToken } from '../../console/forms/form-target.ts';
import { plainDocument } from '../../console/frame.ts';
import { browserName } from '../../console/parts/browser-name.ts';
import { icon } from '../../console/parts/icon.ts';
import { moduleScript } from '../../console/parts/module-script.ts';
import { copyButton } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { zoned } from '../../console/parts/time.ts';
import { sendAsVisitor } from '../../console/request-visit.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import { type Problem, problemOf, type ReplyOf } from '../../http/ask.ts';
import { readSmallForm } from '../../http/read-form.ts';
import { assertOwnPage } from '../../identity/sign-in-cookies.ts';

const INVITATION_PAGE = '/console/invitation';

const { a, button, code, div, form, h1, input, label, p, section, span, strong } = tags;

type TenantRole = ReplyOf<Rows['listMembers']>[number]['role'];

type Preview = {
  readonly tenant_id: string;
  readonly tenant_name: string;
  readonly email: string;
  readonly role: TenantRole;
  readonly invited_by: string;
  readonly expires_at: string;
};

/** What the members with each role may do, in words. */
const ROLE_WORDS: Readonly<Record<TenantRole, string>> = {
  OWNER: 'You can do everything, and decide who else is an owner.',
  ADMIN: 'You can change agents, integrations, members and access, and read everything.',
  MEMBER: 'You can create agents, and work with those to which you get access.',
  AUDITOR: 'You can read agents, sessions, access and the audit log, and change nothing.',
};

const alone = (assets: string, visit: Visit, title: string, ...content: Child[]): string =>
  plainDocument(assets, visit, title, section({ class: 'card sign-in' }, h1(null, title), ...content));

/** Renders the page that asks for the token. With JavaScript, it sends the token of the link at once. */
const askPage = (assets: string, visit: Visit): string =>
  alone(
    assets,
    visit,
    'Open your invitation',
    p({ class: 'quiet' }, 'Paste the part of the link after #, which starts with inv_.'),
    form(
      { method: 'post', action: INVITATION_PAGE, autocomplete: 'off', id: 'invitation-form' },
      label({ for: 'token' }, 'Invitation'),
      input({ id: 'token', name: 'token', type: 'text', required: true, autocomplete: 'off', spellcheck: false, placeholder: 'inv_…' }),
      button({ class: 'primary wide' }, 'Show the invitation'),
    ),
    p({ class: 'quiet' }, span(null, 'Another way: '), a({ href: '/console/sign-in' }, 'sign in with a key')),
    moduleScript('invitation.mjs'),
  );

/** Renders the page that says who invites whom to what, and asks whether to join. */
const previewPage = (assets: string, visit: Visit, token: string, invitation: Preview): string =>
  alone(
    assets,
    visit,
    `Join ${invitation.tenant_name}`,
    p(null, strong(null, invitation.invited_by), ' invites you to ', strong(null, invitation.tenant_name), ` as ${invitation.role}. `),
    p(null, ROLE_WORDS[invitation.role]),
    form(
      { method: 'post', action: `${INVITATION_PAGE}/join`, autocomplete: 'off' },
      input({ type: 'hidden', name: 'token', value: token }),
      button({ class: 'primary wide' }, 'Join'),
    ),
    p(
      { class: 'quiet' },
      `This signs the browser in as ${invitation.email}. The link works once, until `,
      zoned(invitation.expires_at, 'minute'),
      '.',
    ),
  );

const problemPage = (assets: string, visit: Visit, { title, detail, status }: Problem): string =>
  alone(
    assets,
    visit,
    status === 401 ? 'This invitation cannot be used' : title,
    div({ class: 'problem', role: 'alert' }, icon('triangle-alert'), p(null, `${detail}.`)),
    status === 401
      ? p(null, 'A new link replaces the previous one. Any owner or admin of the tenant makes one on the page Members.')
      : null,
    div(
      { class: 'actions below' },
      a({ class: 'button', href: '/console' }, 'To the console'),
      a({ class: 'button', href: INVITATION_PAGE }, 'Enter another invitation'),
    ),
    p({ class: 'quiet' }, 'Request ', code(null, visit.requestId)),
  );

/** Renders the page after joining. Only this page shows the key. */
const joinedPage = (assets: string, visit: Visit, key: string, target: string): string =>
  alone(
    assets,
    visit,
    'Welcome',
    p(null, 'You have joined, and this browser is signed in for 12 hours. After that, and in other browsers, sign in with this key:'),
    div({ class: 'secret-value copyable', 'data-secret': '' }, code(null, key), copyButton(key, 'the key')),
    div({ class: 'note', role: 'status' }, icon('key-round'), p(null, 'Copy it now: it is shown only on this page, and only this once.')),
    div({ class: 'actions below' }, a({ class: 'button primary', href: target }, 'I have copied it')),
  );

const post = (c: Context, { app }: ConsoleDeps, path: string, body: object) =>
  sendAsVisitor(app, c)({ method: 'POST', path, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });

/** Shows the invitation with this token. It stays unused. */
export const showInvitation = async (c: Context, deps: ConsoleDeps, token: string): Promise<Response> => {
  const visit = requestedVisit(c, deps);
  const response = await post(c, deps, '/invitations/preview', { token });
  if (response.ok) return htmlResponse(c, previewPage(deps.assets, visit, token, (await response.json()) as Preview), 200);
  return htmlResponse(c, problemPage(deps.assets, visit, await problemOf(response)), response.status);
};

/** Accepts an invitation, signs the browser in with the new key, and shows the key. */
const join = async (c: Context, deps: ConsoleDeps, token: string): Promise<Response> => {
  const visit = requestedVisit(c, deps);
  const name = browserName(c.req.header('user-agent'));
  const accepted = await post(c, deps, '/invitations/accept', { token, ...(name && { name }) });
  if (!accepted.ok) {
    // A used or expired invitation is explained in the same words as when it is opened.
    if (accepted.status === 401) return showInvitation(c, deps, token);
    return htmlResponse(c, problemPage(deps.assets, visit, await problemOf(accepted)), accepted.status);
  }
  const { key } = (await accepted.json()) as { readonly key: string };
  const signedIn = await post(c, deps, '/auth/key', { key });
  const tenant_id = accepted.headers.get('location')?.split('/')[2] ?? '';
  const target = afterToken(tenantPath(tenant_id), accepted.headers.get('consistency-token'));
  const response = htmlResponse(c, joinedPage(deps.assets, visit, key, target), 200);
  for (const cookie of signedIn.headers.getSetCookie()) response.headers.append('set-cookie', cookie);
  return response;
};

/** Adds the pages on which an invited person joins a tenant. */
export const mountInvitation = (app: Hono, deps: ConsoleDeps): void => {
  const sent =
    (handle: typeof join) =>
    async (c: Context): Promise<Response> => {
      assertOwnPage(c, deps.cookies);
      const { token = '' } = await readSmallForm(c.req.raw);
      return handle(c, deps, token.trim());
    };
  app.get(INVITATION_PAGE, (c) => htmlResponse(c, askPage(deps.assets, requestedVisit(c, deps)), 200));
  app.post(INVITATION_PAGE, sent(showInvitation));
  app.post(`${INVITATION_PAGE}/join`, sent(join));
};
