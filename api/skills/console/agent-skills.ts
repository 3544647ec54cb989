import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { agentCalls, agentParams, agentTab, agentTrail } from '../../console/agent-frame.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card } from '../../console/parts/facts.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import type { MayOnAgent } from '../../console/permission.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { div } = tags;

type Skill = ReplyOf<Rows['listAgentSkills']>[number];
type Tool = ReplyOf<Rows['listAgentTools']>[number];
type Names = ReadonlyMap<string, string>;
type Context = { readonly visit: Visit; readonly onAgent: MayOnAgent };

const enabled = (is_enabled: boolean) => badge(is_enabled ? 'active' : 'inactive', is_enabled ? 'enabled' : 'disabled');

type Granted = Pick<Skill, 'is_enabled' | 'created_at'>;

const STATE_AND_TIME = [
  { title: 'State', look: 'state', cell: ({ is_enabled }: Granted) => enabled(is_enabled) },
  { title: 'Since', look: 'number', cell: ({ created_at }: Granted) => ago(created_at) },
] as const;

const skillTable = (skills: readonly Skill[], names: Names, { visit, onAgent }: Context): Child =>
  dataTable<Skill>(
    {
      ...{ title: 'Skills', kind: 'skill', nameTitle: 'Skill', id: ({ skill_id }) => skill_id, columns: STATE_AND_TIME },
      name: ({ skill_id }) => names.get(skill_id) ?? 'A skill',
      href: ({ skill_id }) => (names.has(skill_id) ? tenantPath(visit.params.tenant_id!, `/skills/${skill_id}`) : null),
      details: ({ has_config }) => (has_config ? 'configured' : 'no configuration'),
      menu: ({ skill_id }) => [
        formLink(visit, visit.rows.revokeAgentSkill, { ...agentParams(visit), skill_id }, 'Take away', {
          ...{ onAgent, returnTo: visit.path, look: 'danger' },
        }),
      ],
    },
    skills,
  );

const toolTable = (tools: readonly Tool[], names: Names, { visit, onAgent }: Context): Child =>
  dataTable<Tool>(
    {
      ...{ title: 'Tools', kind: 'tool', nameTitle: 'Tool', id: ({ tool_id }) => tool_id, columns: STATE_AND_TIME },
      name: ({ tool_id }) => names.get(tool_id) ?? 'A tool',
      href: ({ tool_id }) => (names.has(tool_id) ? tenantPath(visit.params.tenant_id!, `/tools/${tool_id}`) : null),
      menu: ({ tool_id }) => [
        formLink(visit, visit.rows.revokeAgentTool, { ...agentParams(visit), tool_id }, 'Take away', {
          ...{ onAgent, returnTo: visit.path, look: 'danger' },
        }),
      ],
    },
    tools,
  );

const withGrant = (shown: Child, grant: Child): Child => div({ class: 'stack' }, shown, div({ class: 'actions' }, grant));

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
                : withGrant(skillTable(found, skillNames, { visit, onAgent }), grantSkill),
            ),
          ),
          card(
            'Tools',
            panel(tools, (found) =>
              found.length === 0
                ? emptyState({ icon: 'settings', title: 'No tools', why: 'A tool lets the agent act in another system.' }, grantTool)
                : withGrant(toolTable(found, toolNames, { visit, onAgent }), grantTool),
            ),
          ),
        ),
      ];
    }),
});
