import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { agentParams } from '../../console/agent-frame.ts';
import { badge } from '../../console/parts/badge.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import type { MayOnAgent } from '../../console/permission.ts';
import type { Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { div } = tags;

type Credential = ReplyOf<Rows['listAgentCredentials']>[number];

const credentialTable = (found: readonly Credential[], visit: Visit, onAgent: MayOnAgent): Child =>
  dataTable<Credential>(
    {
      ...{ title: 'Credentials of the tenant', kind: 'credential', nameTitle: 'Credential', id: ({ identity_id }) => identity_id },
      name: ({ database, label }) => database ?? label,
      details: ({ database, label, provider }) => (database === null ? provider : label),
      columns: [
        {
          title: 'State',
          look: 'state',
          cell: ({ connected }) => badge(connected ? 'active' : 'inactive', connected ? 'connected' : 'connect it again'),
        },
        { title: 'Since', look: 'number', cell: ({ given_at }) => ago(given_at) },
      ],
      menu: ({ identity_id }) => [
        formLink(visit, visit.rows.takeAgentCredential, { ...agentParams(visit), identity_id }, 'Take away', {
          ...{ onAgent, returnTo: visit.path, look: 'danger' },
        }),
      ],
    },
    found,
  );

/** Lists the credentials of the tenant that the agent of this page has, with the actions that the visitor may use. */
export const credentialList = (found: readonly Credential[], visit: Visit, onAgent: MayOnAgent): Child => {
  const look = { onAgent, returnTo: visit.path, icon: 'plus' } as const;
  const give = formLink(visit, visit.rows.giveAgentCredential, agentParams(visit), 'Give a credential', look);
  if (found.length === 0) {
    const why = 'The runner gets the secrets of databases and accounts of the tenant that were given to the agent.';
    return emptyState({ icon: 'key-round', title: 'No credentials of the tenant', why }, give);
  }
  return div({ class: 'stack' }, credentialTable(found, visit, onAgent), div({ class: 'actions' }, give));
};
