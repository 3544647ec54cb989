import { presenceFacts } from '../../agents/console/agent.ts';
import { formLink } from '../../console/action.ts';
import { agentCalls, agentParams, agentTab, agentTrail, mayOf } from '../../console/agent-frame.ts';
import { runnerCommand } from '../../console/forms/runner-command.ts';
import { page } from '../../console/page.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card } from '../../console/parts/facts.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { copyButton } from '../../console/parts/short-id.ts';
import { tags } from '../../console/parts/tags.ts';
import { credentialList } from '../../credentials/console/credential-list.ts';
import { keyTable } from '../../identity/console/key-table.ts';

const { div, pre, p, code, aside } = tags;

/**
 * The page about the runner of an agent: whether it is connected, how to start one, its keys, and the credentials of the
 * tenant that it gets.
 */
export const agentRunnerPage = page({
  path: '/console/t/:tenant_id/agents/:agent_id/runner',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent', 'apikey', 'acknowledgement', 'linkedidentity'],
  polls: true,
  asks: (visit) => {
    const { ask, rows } = visit;
    const path = agentParams(visit);
    const { agent, may } = agentCalls(visit);
    // Without the permission, this call would be recorded as a refused access. So it is made only if the visitor has
    // the permission.
    const keys = may.then((effective) => (mayOf(effective)('agent:settings:write') ? ask(rows.listRunnerKeys, path) : null));
    return {
      agent,
      may,
      presence: ask(rows.getRunnerPresence, path),
      keys,
      credentials: ask(rows.listAgentCredentials, { ...path, limit: 100 }),
    };
  },
  title: () => 'Runner',
  trail: agentTrail('Runner'),
  view: ({ agent, may, presence, keys, credentials }, visit) =>
    agentTab(visit, 'Runner', { agent, may }, ({ slug }, onAgent) => {
      const { rows } = visit;
      const path = agentParams(visit);
      const look = { onAgent, returnTo: visit.path } as const;
      const create = formLink(visit, rows.createRunnerKey, path, 'New runner key', { ...look, icon: 'plus', look: 'primary' });
      const list = keys
        ? panel(keys, (found) =>
            found.length === 0
              ? emptyState({ icon: 'key-round', title: 'No runner keys', why: 'A runner signs in with a key of its agent.' }, create)
              : div(
                  { class: 'stack' },
                  keyTable(found, {
                    title: 'Runner keys',
                    menu: ({ id }) => [formLink(visit, rows.revokeRunnerKey, { ...path, id }, 'Revoke', { ...look, look: 'danger' })],
                  }),
                  div({ class: 'actions' }, create),
                ),
          )
        : null;
      const command = runnerCommand(visit.origin, slug, '<runner key>');
      return [
        div(
          { class: 'detail' },
          div(
            { class: 'detail-main' },
            card(
              'Start a runner',
              p(
                { class: 'quiet' },
                'It runs a command for each delivery, and acknowledges the delivery if the command ends with ',
                code(null, '0'),
                '.',
              ),
              div({ class: 'copyable' }, pre(null, command), copyButton(command, 'the command')),
            ),
            list ? card('Runner keys', list) : null,
            card(
              'Credentials of the tenant',
              panel(credentials, (found) => credentialList(found, visit, onAgent)),
            ),
          ),
          aside({ class: 'detail-side', 'aria-label': 'Facts' }, card('Presence', panel(presence, presenceFacts))),
        ),
      ];
    }),
});
