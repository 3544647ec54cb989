import type { Problem } from '../http/ask.ts';
import { plainDocument } from './frame.ts';
import { icon } from './parts/icon.ts';
import { type Child, tags } from './parts/tags.ts';
import type { Visit } from './visit.ts';

const { h1, h2, p, form, label, input, button, a, div, code, hr, span, section, script } = tags;

export type SignInPage = {
  readonly theme: Visit['theme'];
  readonly returnTo: string;
  readonly hasIssuer: boolean;
  readonly problem?: Problem | undefined;
  /** If the visitor had a session, why they must sign in again. */
  readonly ended?: string | undefined;
  /** Whether a form was sent without a session. What was typed in it is kept in the tab. */
  readonly isForm?: boolean;
};

const notice = (problem: Problem | undefined, ended: string | undefined): Child =>
  problem
    ? div({ class: 'problem', role: 'alert' }, icon('triangle-alert'), p(null, problem.detail))
    : ended
      ? div({ class: 'note', role: 'status' }, icon('info'), p(null, ended))
      : null;

const hidden = (returnTo: string) => input({ type: 'hidden', name: 'return_to', value: returnTo });

/** Renders the page that offers the ways to sign in. */
export const signInPage = (assets: string, { theme, returnTo, hasIssuer, problem, ended, isForm = false }: SignInPage): string =>
  plainDocument(
    assets,
    { theme },
    'Sign in',
    section(
      { class: 'card sign-in' },
      h1(null, 'Sign in'),
      notice(problem, ended),
      isForm
        ? p({ class: 'quiet', 'data-form-ended': '', hidden: true }, 'What you typed is kept in this tab, without secrets and files.')
        : null,
      hasIssuer
        ? div(
            null,
            a(
              { class: 'button primary wide', href: `/auth/login?return_to=${encodeURIComponent(returnTo)}` },
              icon('log-out'),
              'Sign in with your organisation',
            ),
            hr(null),
          )
        : null,
      form(
        { method: 'post', action: '/console/sign-in', autocomplete: 'off' },
        hidden(returnTo),
        label({ for: 'key' }, 'API key or invitation'),
        input({
          id: 'key',
          name: 'key',
          type: 'password',
          required: true,
          autocomplete: 'off',
          spellcheck: false,
          placeholder: 'ann_…',
          pattern: ' *(ann_[0-9A-Za-z]{8}|inv_c[0-9a-z]{24}_c[0-9a-z]{24})_[0-9A-Za-z]{38} *',
          title: 'ann_, 8 characters, _ and 38 characters; or an invitation, which starts with inv_',
          'aria-describedby': 'key-help',
        }),
        p({ id: 'key-help', class: 'quiet' }, 'The session has the rights of the key, and ends with it.'),
        button({ class: `wide ${hasIssuer ? '' : 'primary'}` }, 'Sign in with the key'),
      ),
      hr(null),
      h2(null, 'No key at hand?'),
      p({ class: 'quiet' }, 'On the machine of the platform, ', code(null, 'annals login'), ' prints a link that signs you in once.'),
      p(null, a({ href: '/guides' }, 'Read the guides')),
    ),
    script({ type: 'module', src: `${assets}/sign-in-key.mjs` }),
  );

/**
 * Renders the page of a sign-in link. It asks for confirmation, because opening a link alone must not sign anybody in.
 */
export const linkPage = (assets: string, theme: Visit['theme'], problem?: Problem): string =>
  plainDocument(
    assets,
    { theme },
    'Sign in by link',
    section(
      { class: 'card sign-in' },
      h1(null, 'Sign in to Annals in this browser?'),
      notice(problem, undefined),
      problem ? null : p({ class: 'quiet' }, 'Continue only if you asked for this link.'),
      form(
        { method: 'post', action: '/console/in', autocomplete: 'off', id: 'link-form' },
        div(
          { id: 'code-field' },
          label({ for: 'code' }, 'Code'),
          input({
            id: 'code',
            name: 'code',
            type: 'text',
            required: true,
            autocomplete: 'off',
            spellcheck: false,
            'aria-describedby': 'code-help',
          }),
          p({ id: 'code-help', class: 'quiet' }, 'The part of the link after #.'),
        ),
        button({ class: 'primary wide' }, 'Sign in'),
      ),
      p({ class: 'quiet' }, span(null, 'Another way: '), a({ href: '/console/sign-in' }, 'sign in with a key')),
    ),
    script({ type: 'module', src: `${assets}/sign-in-link.mjs` }),
  );
