import type { Rows } from '../../areas.ts';
import { actionButton, formLink } from '../../console/action.ts';
import { historyLink } from '../../console/history-link.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { counted } from '../../console/parts/count-text.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { heading } from '../../console/parts/heading.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { a, div, h2, li, p, section, span, ul } = tags;

type Identity = ReplyOf<Rows['listLinkedIdentities']>[number];

const agentLine = (visit: Visit, { id, label }: Identity, { agent_id, name, given_at }: Identity['given_to'][number]) => {
  const tenant_id = visit.params.tenant_id!;
  const take = actionButton(visit, visit.rows.takeAgentCredential, { tenant_id, agent_id, identity_id: id }, 'Take back', {
    // Visitors who may write the credentials of the tenant may change the settings of all its agents.
    onAgent: () => true,
    returnTo: visit.path,
    look: 'small',
    confirm: `The runner of ${name} gets the secret of ${label} no more. Change it, too, if the runner must not use it any longer.`,
  });
  return li(
    { 'data-kind': 'given-credential', 'data-id': `${id} ${agent_id}` },
    span({ class: 'grow' }, a({ href: tenantPath(tenant_id, `/agents/${agent_id}/runner`) }, name)),
    span({ class: 'quiet' }, 'since ', ago(given_at)),
    take,
  );
};

const agentsOf = (visit: Visit, identity: Identity): Child => {
  const { agent_id, given_to, given_count } = identity;
  if (agent_id !== null)
    return p(
      null,
      'It belongs to ',
      a({ href: tenantPath(visit.params.tenant_id!, `/agents/${agent_id}/runner`) }, 'one agent'),
      ', whose runner gets it.',
    );
  if (given_count === 0) return p({ class: 'quiet' }, 'No agent has it.');
  const others = given_count - given_to.length;
  return div(
    null,
    ul({ class: 'lines' }, ...given_to.map((one) => agentLine(visit, identity, one))),
    others === 0 ? null : p({ class: 'quiet' }, `And ${counted(others, 'other agent')}.`),
  );
};

const identityCard = (visit: Visit, identity: Identity) => {
  const { id, label, provider, connected, error, created_at } = identity;
  const tenant_id = visit.params.tenant_id!;
  const unlink = actionButton(visit, visit.rows.unlinkIdentity, { tenant_id, id }, 'Unlink', {
    look: 'danger',
    returnTo: visit.path,
    confirm: `No runner gets the secret of ${label} any more, and all agents lose it.`,
  });
  return section(
    { class: 'card', 'data-kind': 'linked-identity', 'data-id': id },
    h2({ class: 'long' }, label),
    p(
      { class: 'quiet' },
      badge(connected ? 'active' : 'inactive', connected ? 'connected' : 'connect it again'),
      ` ${provider}, linked `,
      ago(created_at),
      error === null ? null : `: ${error}`,
    ),
    agentsOf(visit, identity),
    div({ class: 'actions' }, historyLink(visit, id), unlink),
  );
};

/** The page with the databases and accounts that are linked to a tenant, and with the agents that have each of them. */
export const credentialsPage = page({
  path: '/console/t/:tenant_id/credentials',
  permit: 'tenant:read',
  nav: 'Credentials',
  categories: ['linkedidentity', 'agent'],
  asks: ({ ask, rows, params, query }) => {
    const cursor = query.get('cursor');
    return { identities: ask(rows.listLinkedIdentities, { tenant_id: params.tenant_id!, ...(cursor ? { cursor } : {}) }) };
  },
  title: () => 'Credentials',
  view: ({ identities }, visit) => {
    const path = { tenant_id: visit.params.tenant_id! };
    const look = { icon: 'plus', look: 'primary', returnTo: visit.path } as const;
    const store = formLink(visit, visit.rows.storeDatabaseCredential, path, 'Store a database', look);
    return [
      heading('Credentials', 'Databases and accounts of the tenant, and the agents whose runners get their secrets.', store),
      panel(identities, (found) =>
        found.length === 0
          ? emptyState({ icon: 'key-round', title: 'No credentials', why: 'No database is stored, and no account is connected.' }, store)
          : div({ class: 'stack' }, ...found.map((identity) => identityCard(visit, identity))),
      ),
      pager(identities, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
    ];
  },
});
