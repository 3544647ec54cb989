import { actionButton, formLink } from '../../console/action.ts';
import { agentCalls, agentParams, agentTab, agentTrail } from '../../console/agent-frame.ts';
import { page } from '../../console/page.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { tags } from '../../console/parts/tags.ts';
import { tenantPath } from '../../console/visit.ts';

const { div, code, p } = tags;

const yesNo = (value: boolean): string => (value ? 'yes' : 'no');

/**
 * The page with the settings of an agent. Each setting has a link to the form that changes it. The page also offers to
 * deactivate or delete the agent.
 */
export const agentSettingsPage = page({
  path: '/console/t/:tenant_id/agents/:agent_id/settings',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent'],
  asks: agentCalls,
  title: () => 'Settings',
  trail: agentTrail('Settings'),
  view: ({ agent, may }, visit) =>
    agentTab(visit, 'Settings', { agent, may }, (value, onAgent) => {
      const { rows } = visit;
      const path = agentParams(visit);
      const look = { onAgent, returnTo: visit.path } as const;
      const list = tenantPath(path.tenant_id, '/agents');
      const remove = actionButton(visit, rows.deleteAgent, path, 'Delete the agent', {
        onAgent,
        returnTo: list,
        look: 'danger',
        icon: 'trash-2',
        confirm: `${value.name} gets no deliveries any more. It can be restored with its settings.`,
      });
      return [
        div(
          { class: 'columns' },
          card(
            'General',
            facts({
              Agent: shortId(value.id),
              Name: value.name,
              Slug: code(null, value.slug),
              Description: value.description,
              Greeting: value.initial_greeting,
              Kind: value.kind,
              'Only administrators': yesNo(value.is_admin_only),
            }),
            div({ class: 'actions form-actions' }, formLink(visit, rows.updateAgent, path, 'Edit the settings', look)),
          ),
          card(
            'Code',
            facts({
              Repository: value.repo_url ? code(null, value.repo_url) : 'none',
              'Code ref': code(null, value.code_ref),
              Image: value.image_ref ? code(null, value.image_ref) : null,
              Resources: value.resource_class,
              Environment: value.environment_mode,
            }),
            div(
              { class: 'actions form-actions' },
              formLink(visit, rows.linkAgentRepo, path, 'Link a repository', look),
              formLink(visit, rows.pinAgentCodeRef, path, 'Pin the code', look),
            ),
          ),
          card(
            'Skills',
            facts({ 'May write skills': yesNo(value.can_author_skills) }),
            div(
              { class: 'actions form-actions' },
              formLink(visit, rows.changeSkillAuthoring, path, 'Change who writes skills', look),
              formLink(visit, rows.changeSkillVisibilityScope, path, 'Change what skills it sees', look),
            ),
          ),
          remove
            ? card(
                'End',
                p({ class: 'quiet' }, 'A deleted agent keeps its history, and can be restored.'),
                div({ class: 'actions form-actions' }, remove),
              )
            : null,
        ),
      ];
    }),
});
