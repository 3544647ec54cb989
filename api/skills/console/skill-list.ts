import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { historyLink } from '../../console/history-link.ts';
import { NOT_ASKED, page } from '../../console/page.ts';
import { countText } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { filterTabs } from '../../console/parts/filters.ts';
import { heading } from '../../console/parts/heading.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';

const { div, span } = tags;

type Skill = ReplyOf<Rows['listSkills']>[number];
type Tool = ReplyOf<Rows['listTools']>[number];

const areTools = ({ query }: Visit): boolean => query.get('kind') === 'tools';

export const SOURCES: Readonly<Record<Skill['source'], string>> = {
  authored: 'Written here',
  imported: 'Uploaded',
  installed: 'From the marketplace',
};

type Counts = Answer<ReplyOf<Rows['countGrants']>> | null;

/** Counts the agents that have the listed skills or tools. Only the present numbers are known. */
const countsOf = async <T extends { readonly id: string }>(visit: Visit, listed: Promise<Answer<readonly T[]> | null>): Promise<Counts> => {
  const { ask, rows, params, asOf } = visit;
  const found = await listed;
  if (asOf !== null || !found?.ok || found.value.length === 0) return null;
  return ask(rows.countGrants, { tenant_id: params.tenant_id!, id: found.value.map(({ id }) => id).join(',') });
};

const agentCount = (counts: Counts) => {
  const byId = new Map(counts?.ok ? counts.value.map(({ id, agent_count }) => [id, agent_count]) : []);
  return {
    title: 'Agents',
    look: 'number',
    cell: ({ id }: { readonly id: string }) => {
      const count = byId.get(id);
      return count === undefined ? '—' : countText(count);
    },
  } as const;
};

const skillTable = (visit: Visit, skills: readonly Skill[], counts: Counts): Child => {
  const { rows, params } = visit;
  const path = (skill_id: string) => ({ tenant_id: params.tenant_id!, skill_id });
  return dataTable<Skill>(
    {
      ...{ title: 'Skills', kind: 'skill', nameTitle: 'Skill', id: ({ id }) => id, name: ({ name }) => name },
      details: ({ description }) => description,
      href: ({ id }) => tenantPath(params.tenant_id!, `/skills/${id}`),
      columns: [
        {
          ...{ title: 'Visible to', look: 'state' },
          cell: ({ visibility }) => span({ class: 'badge calm' }, visibility === 'public' ? 'all members' : 'administrators'),
        },
        { title: 'Source', cell: ({ source }) => SOURCES[source] },
        agentCount(counts),
        { title: 'Version', look: 'number', cell: ({ version }) => String(version) },
        { title: 'Changed', look: 'number', cell: ({ updated_at }) => ago(updated_at) },
      ],
      menu: ({ id }) => [
        formLink(visit, rows.updateSkill, path(id), 'Edit', { returnTo: visit.url }),
        historyLink(visit, id),
        formLink(visit, rows.deleteSkill, path(id), 'Delete', { look: 'danger', returnTo: visit.url }),
      ],
    },
    skills,
  );
};

const toolTable = (visit: Visit, tools: readonly Tool[], counts: Counts): Child => {
  const { rows, params } = visit;
  const path = (tool_id: string) => ({ tenant_id: params.tenant_id!, tool_id });
  return dataTable<Tool>(
    {
      ...{ title: 'Tools', kind: 'tool', nameTitle: 'Tool', id: ({ id }) => id, name: ({ display_name }) => display_name },
      details: ({ description }) => description,
      href: ({ id }) => tenantPath(params.tenant_id!, `/tools/${id}`),
      columns: [
        { title: 'Called by agents as', cell: ({ name }) => span({ class: 'mono' }, name) },
        { title: 'From', cell: ({ connector }) => connector ?? 'this tenant' },
        agentCount(counts),
        { title: 'Changed', look: 'number', cell: ({ updated_at }) => ago(updated_at) },
      ],
      menu: ({ id, connector }) => [
        // The sync of a connector decides about its tools.
        connector === null ? formLink(visit, rows.updateTool, path(id), 'Edit', { returnTo: visit.url }) : null,
        historyLink(visit, id),
        connector === null ? formLink(visit, rows.removeTool, path(id), 'Delete', { look: 'danger', returnTo: visit.url }) : null,
      ],
    },
    tools,
  );
};

const tabsOf = (visit: Visit): Child =>
  filterTabs('What is listed', areTools(visit) ? 'tools' : null, [
    { value: null, label: 'Skills', href: withQuery(visit, { kind: null, cursor: null }) },
    { value: 'tools', label: 'Tools', href: withQuery(visit, { kind: 'tools', cursor: null }) },
  ]);

const NO_SKILLS = { icon: 'zap', title: 'No skills', why: 'A skill is a text of instructions that agents follow.' } as const;
const NO_TOOLS = { icon: 'settings', title: 'No tools', why: 'A tool lets agents act in another system.' } as const;

/** The page with the skills and the tools of the tenant, whichever agents have them. */
export const skillListPage = page({
  path: '/console/t/:tenant_id/skills',
  permit: 'tenant:read',
  nav: 'Skills and tools',
  categories: ['skill', 'tool', 'agent'],
  asks: (visit) => {
    const { ask, rows, params, query } = visit;
    const cursor = query.get('cursor');
    const sent = { tenant_id: params.tenant_id!, ...(cursor ? { cursor } : {}) };
    const skills = areTools(visit) ? NOT_ASKED : ask(rows.listSkills, sent);
    const tools = areTools(visit) ? ask(rows.listTools, sent) : NOT_ASKED;
    return { skills, tools, counts: areTools(visit) ? countsOf(visit, tools) : countsOf(visit, skills) };
  },
  title: () => 'Skills and tools',
  view: ({ skills, tools, counts }, visit) => {
    const { rows, params } = visit;
    const path = { tenant_id: params.tenant_id! };
    const look = { icon: 'plus', look: 'primary', returnTo: visit.url } as const;
    const create = areTools(visit)
      ? formLink(visit, rows.registerTool, path, 'Register a tool', look)
      : formLink(visit, rows.createSkill, path, 'New skill', look);
    return [
      heading('Skills and tools', 'What agents can be given: instructions that they follow, and actions in other systems.', create),
      div({ class: 'toolbar' }, tabsOf(visit)),
      skills && panel(skills, (found) => (found.length === 0 ? emptyState(NO_SKILLS, create) : skillTable(visit, found, counts))),
      tools && panel(tools, (found) => (found.length === 0 ? emptyState(NO_TOOLS, create) : toolTable(visit, found, counts))),
      ...[skills, tools].map((answer) => answer && pager(answer, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor }))),
    ];
  },
});
