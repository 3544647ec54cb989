import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { actionButton } from '../action.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { emptyState } from '../parts/empty-state.ts';
import { card, facts } from '../parts/facts.ts';
import { heading } from '../parts/heading.ts';
import { pager } from '../parts/pager.ts';
import { panel } from '../parts/problem-panel.ts';
import { shortId } from '../parts/short-id.ts';
import { type Column, tableOf } from '../parts/table.ts';
import { type Child, tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import { type Me, tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, div, li, span, tr, td, ul } = tags;

type SignIn = ReplyOf<Rows['listMySignIns']>[number];

const WAYS = { oidc: 'Sign-in provider', link: 'One-time link', key: 'API key' } as const;

const COLUMNS: readonly Column[] = [
  ['Browser'],
  ['Signed in by'],
  ['Address', 'wide-only'],
  ['Last seen'],
  ['Ends', 'wide-only'],
  ['Actions', 'number'],
];

const rowOf = (visit: Visit, { id, by, key_id, last_seen_at, expires_at, ip, user_agent, is_current }: SignIn) =>
  tr(
    { 'data-kind': 'sign-in', 'data-id': id },
    td({ class: 'main-cell' }, div({ class: 'clip' }, user_agent ?? 'unknown'), is_current ? badge('active', 'this browser') : null),
    td(null, WAYS[by], key_id ? div({ class: 'quiet' }, shortId(key_id)) : null),
    td({ class: 'wide-only mono' }, ip ?? '—'),
    td(null, ago(last_seen_at)),
    td({ class: 'wide-only' }, ago(expires_at)),
    td(
      { class: 'number' },
      is_current
        ? null
        : actionButton(visit, visit.rows.endMySignIn, { id }, 'Sign out', {
            look: 'small',
            confirm: 'This browser must sign in again before its next request.',
          }),
    ),
  );

const personFacts = ({ user, tenants, permissions, read_only }: Me, path: (id: string) => string): Child =>
  facts({
    Name: user?.name ?? null,
    'E-mail': user?.email ?? null,
    User: user ? shortId(user.id) : null,
    Platform: permissions.includes('platform') ? 'super-admin' : null,
    Credential: read_only ? 'read only' : null,
    Tenants:
      tenants.length === 0
        ? 'none'
        : ul(
            { class: 'links' },
            ...tenants.map(({ id, name, role }) => li(null, a({ href: path(id) }, name), span({ class: 'quiet' }, role ?? ''))),
          ),
  });

/** The page about the visitor's own account, and the browsers in which they are signed in. */
export const mePage = page({
  path: '/console/me',
  permit: 'any',
  nav: '',
  polls: true,
  asks: ({ ask, rows, query }) => {
    const cursor = query.get('cursor');
    return { signIns: ask(rows.listMySignIns, cursor ? { cursor } : {}) };
  },
  title: () => 'You',
  view: ({ signIns }, visit) => {
    const { me, rows } = visit;
    const hasOthers = signIns.ok && signIns.value.some(({ is_current }) => !is_current);
    const endOthers = hasOthers
      ? actionButton(visit, rows.endOtherSignIns, {}, 'Sign out everywhere else', {
          confirm: 'All other browsers must sign in again before their next request.',
        })
      : null;
    return [
      heading('You', 'Who you are here, and where you are signed in.', endOthers),
      me
        ? card(
            'Account',
            personFacts(me, (id) => tenantPath(id)),
          )
        : null,
      card(
        'Browsers',
        panel(signIns, (found) =>
          found.length === 0
            ? emptyState({ icon: 'users', title: 'No browsers', why: 'No browser is signed in with this credential.' })
            : tableOf(
                'Browsers in which you are signed in',
                COLUMNS,
                found.map((one) => rowOf(visit, one)),
              ),
        ),
        pager(signIns, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next })),
      ),
    ];
  },
});
