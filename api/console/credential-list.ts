import type { Rows } from '../areas.ts';
import type { ReplyOf } from '../http/ask.ts';
import { actionButton, formLink } from './action.ts';
import { agentParams } from './agent-frame.ts';
import { badge } from './parts/badge.ts';
import { emptyState } from './parts/empty-state.ts';
import { tableOf } from './parts/table.ts';
import { type Child, tags } from './parts/tags.ts';
import { ago } from './parts/time.ts';
import type { MayOnAgent } from './permission.ts';
import type { Visit } from './visit.ts';

const { tr, td, div, strong } = tags;

type Credential = ReplyOf<Rows['listAgentCredentials']>[number];

const credentialRow = ({ identity_id, provider, label, database, connected, given_at }: Credential, visit: Visit, onAgent: MayOnAgent) =>
  tr(
    { 'data-kind': 'credential', 'data-id': identity_id },
    td(
      { class: 'main-cell', title: label },
      strong(null, database ?? label),
      div({ class: 'quiet' }, database === null ? provider : label),
    ),
    td({ class: 'state-cell' }, badge(connected ? 'active' : 'inactive', connected ? 'connected' : 'connect it again')),
    td({ class: 'number wide-only' }, ago(given_at)),
    td(
      { class: 'number' },
      actionButton(visit, visit.rows.takeAgentCredential, { ...agentParams(visit), identity_id }, 'Take away', {
        onAgent,
        returnTo: visit.path,
        look: 'small',
        confirm: 'The runner gets the secret no more. Change it, too, if the runner must not use it any longer.',
      }),
    ),
  );

/** Lists the credentials of the tenant that the agent of this page has, with the actions that the visitor may use. */
export const credentialList = (found: readonly Credential[], visit: Visit, onAgent: MayOnAgent): Child => {
  const look = { onAgent, returnTo: visit.path, icon: 'plus' } as const;
  const give = formLink(visit, visit.rows.giveAgentCredential, agentParams(visit), 'Give a credential', look);
  if (found.length === 0) {
    const why = 'The runner gets the secrets of databases and accounts of the tenant that were given to the agent.';
    return emptyState({ icon: 'key-round', title: 'No credentials of the tenant', why }, give);
  }
  return div(
    { class: 'stack' },
    tableOf(
      'Credentials of the tenant',
      [['Credential'], ['State'], ['Since', 'number wide-only'], ['Actions', 'number']],
      found.map((one) => credentialRow(one, visit, onAgent)),
    ),
    div({ class: 'actions' }, give),
  );
};
