import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { actionButton, formLink } from '../action.ts';
import { agentCalls, agentParams, agentTab, agentTrail } from '../agent-frame.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { emptyState } from '../parts/empty-state.ts';
import { card } from '../parts/facts.ts';
import { panel } from '../parts/problem-panel.ts';
import { tableOf } from '../parts/table.ts';
import { type Child, tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import type { MayOnAgent } from '../permission.ts';
import type { Visit } from '../visit.ts';

const { tr, td, span, div } = tags;

type Skill = ReplyOf<Rows['listAgentSkills']>[number];
type Tool = ReplyOf<Rows['listAgentTools']>[number];
type Names = ReadonlyMap<string, string>;
type Context = { readonly visit: Visit; readonly onAgent: MayOnAgent };

const enabled = (is_enabled: boolean) => badge(is_enabled ? 'active' : 'inactive', is_enabled ? 'enabled' : 'disabled');

const skillRow = ({ skill_id, is_enabled, has_config, created_at }: Skill, names: Names, { visit, onAgent }: Context) => {
  const path = { ...agentParams(visit), skill_id };
  const look = { onAgent, returnTo: visit.path, look: 'small' } as const;
  const confirm = 'The agent can no longer use the skill, and its configuration is removed.';
  return tr(
    { 'data-kind': 'skill', 'data-id': skill_id },
    td(
      { class: 'main-cell' },
      span({ class: 'event' }, names.get(skill_id) ?? 'A skill'),
      div({ class: 'quiet' }, has_config ? 'configured' : 'no configuration'),
    ),
    td({ class: 'state-cell' }, enabled(is_enabled)),
    td({ class: 'number wide-only' }, ago(created_at)),
    td({ class: 'number' }, actionButton(visit, visit.rows.revokeAgentSkill, path, 'Take away', { ...look, confirm })),
  );
};

const toolRow = ({ tool_id, is_enabled, created_at }: Tool, names: Names, { visit, onAgent }: Context) =>
  tr(
    { 'data-kind': 'tool', 'data-id': tool_id },
    td({ class: 'main-cell' }, span({ class: 'event' }, names.get(tool_id) ?? 'A tool')),
    td({ class: 'state-cell' }, enabled(is_enabled)),
    td({ class: 'number wide-only' }, ago(created_at)),
    td(
      { class: 'number' },
      actionButton(visit, visit.rows.revokeAgentTool, { ...agentParams(visit), tool_id }, 'Take away', {
        onAgent,
        returnTo: visit.path,
        look: 'small',
        confirm: 'The agent can no longer use the tool.',
      }),
    ),
  );

const grantedTable = (title: string, rows: readonly Child[], grant: Child): Child =>
  div(
    { class: 'stack' },
    tableOf(title, [[title], ['State'], ['Since', 'number wide-only'], ['Actions', 'number']], rows),
    div({ class: 'actions' }, grant),
  );

/** The page with the skills and tools that an agent may use. */
export const agentSkillsPage = page({
  path: '/console/t/:tenant_id/agents/:agent_id/skills',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent', 'skill', 'tool'],
  asks: (visit) => {
    const { ask, rows } = visit;
    const path = agentParams(visit);
    const { tenant_id } = path;
    return {
      ...agentCalls(visit),
      skills: ask(rows.listAgentSkills, path),
      tools: ask(rows.listAgentTools, path),
      allSkills: ask(rows.listSkills, { tenant_id, limit: 200 }),
      allTools: ask(rows.listTools, { tenant_id, limit: 200 }),
    };
  },
  title: () => 'Skills and tools',
  trail: agentTrail('Skills and tools'),
  view: ({ agent, may, skills, tools, allSkills, allTools }, visit) =>
    agentTab(visit, 'Skills and tools', { agent, may }, (_, onAgent) => {
      const { rows } = visit;
      const look = { onAgent, returnTo: visit.path, icon: 'plus' } as const;
      const skillNames: Names = new Map(allSkills.ok ? allSkills.value.map(({ id, name }) => [id, name]) : []);
      const toolNames: Names = new Map(allTools.ok ? allTools.value.map(({ id, display_name }) => [id, display_name]) : []);
      const grantSkill = formLink(visit, rows.grantAgentSkill, agentParams(visit), 'Give a skill', look);
      const grantTool = formLink(visit, rows.grantAgentTool, agentParams(visit), 'Give a tool', look);
      return [
        div(
          { class: 'stack wide-gap' },
          card(
            'Skills',
            panel(skills, (found) =>
              found.length === 0
                ? emptyState(
                    { icon: 'zap', title: 'No skills', why: 'A skill is a text of instructions that the agent follows.' },
                    grantSkill,
                  )
                : grantedTable(
                    'Skill',
                    found.map((one) => skillRow(one, skillNames, { visit, onAgent })),
                    grantSkill,
                  ),
            ),
          ),
          card(
            'Tools',
            panel(tools, (found) =>
              found.length === 0
                ? emptyState({ icon: 'settings', title: 'No tools', why: 'A tool lets the agent act in another system.' }, grantTool)
                : grantedTable(
                    'Tool',
                    found.map((one) => toolRow(one, toolNames, { visit, onAgent })),
                    grantTool,
                  ),
            ),
          ),
        ),
      ];
    }),
});
