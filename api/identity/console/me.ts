import type { Rows } from '../../areas.ts';
import { actionButton, formLink } from '../../console/action.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { browserName } from '../../console/parts/browser-name.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { type Me, tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { a, div, li, span, ul } = tags;

type SignIn = ReplyOf<Rows['listMySignIns']>[number];

const WAYS = { oidc: 'Sign-in provider', link: 'One-time link', key: 'API key' } as const;

const browserTable = (visit: Visit, signIns: readonly SignIn[]): Child =>
  dataTable<SignIn>(
    {
      ...{ title: 'Browsers in which you are signed in', kind: 'sign-in', nameTitle: 'Browser', id: ({ id }) => id },
      name: ({ user_agent }) => browserName(user_agent) ?? user_agent ?? 'unknown',
      beside: ({ is_current }) => (is_current ? [' ', badge('active', 'this browser')] : null),
      columns: [
        { title: 'Signed in by', cell: ({ by, key_id }) => [WAYS[by], key_id ? div({ class: 'quiet' }, ' ', shortId(key_id)) : null] },
        { title: 'Address', cell: ({ ip }) => span({ class: 'mono' }, ip ?? '—') },
        { title: 'Last seen', look: 'number', cell: ({ last_seen_at }) => ago(last_seen_at) },
        { title: 'Ends', look: 'number', cell: ({ expires_at }) => ago(expires_at) },
      ],
      menu: ({ id, is_current }) =>
        is_current ? [] : [formLink(visit, visit.rows.endMySignIn, { id }, 'Sign out', { look: 'danger', returnTo: visit.path })],
    },
    signIns,
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
            : browserTable(visit, found),
        ),
        pager(signIns, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next })),
      ),
    ];
  },
});
