import type { Rows } from '../areas.ts';
import type { Answer, ReplyOf } from '../http/ask.ts';
import { actionButton, formLink } from './action.ts';
import { badge } from './parts/badge.ts';
import { heading } from './parts/heading.ts';
import { icon } from './parts/icon.ts';
import { problemPanel } from './parts/problem-panel.ts';
import { rowMenu } from './parts/row-menu.ts';
import { type Child, tags } from './parts/tags.ts';
import { type MayOnAgent, mayCall } from './permission.ts';
import { tenantPath, type Visit } from './visit.ts';

const { div, span, nav, a } = tags;

type Agent = ReplyOf<Rows['getAgent']>;
type Effective = Answer<ReplyOf<Rows['readEffectivePermissions']>>;

type Tab = readonly [label: string, path: string, ...needs: string[]];

const SESSIONS: Tab = ['Sessions', '/sessions', 'tenant:audit:read', 'agent:chat:read'];

/**
 * The tabs of an agent: the label of each, its path below the agent's page, and the permissions on the agent or the
 * tenant of which it needs one.
 */
const TABS: readonly Tab[] = [
  ['Overview', ''],
  SESSIONS,
  ['Runner', '/runner'],
  ['Integrations', '/integrations'],
  ['Schedules', '/cron-jobs'],
  ['Skills and tools', '/skills'],
  ['Memory', '/memory'],
  ['Cost', '/cost'],
  ['Access', '/access', 'tenant:audit:read'],
  ['History', '/history'],
  ['Settings', '/settings'],
];

/** Returns the path parameters of operations on the agent of this page. */
export const agentParams = ({ params }: Visit): { readonly tenant_id: string; readonly agent_id: string } => ({
  tenant_id: params.tenant_id!,
  agent_id: params.agent_id!,
});

/**
 * Returns the calls that every tab of an agent makes. They read the agent, and the visitor's permissions on the agent.
 */
export const agentCalls = (visit: Visit) => ({
  agent: visit.ask(visit.rows.getAgent, agentParams(visit)),
  may: visit.ask(visit.rows.readEffectivePermissions, agentParams(visit)),
});

/**
 * Returns the function that says which permissions the visitor has on the agent of a tab. If they could not be read,
 * the function returns false for all.
 */
export const mayOf = (effective: Effective): MayOnAgent => {
  const allowed = effective.ok ? effective.value.permissions.filter((one) => one.allowed).map(({ id }) => String(id)) : [];
  return (permission) => allowed.includes(permission);
};

/** Returns the breadcrumbs for a tab of an agent. */
export const agentTrail =
  (tab: string | null) =>
  (
    { params }: Visit,
    answers: { readonly agent?: Answer<{ readonly name: string }> | null } | null = null,
  ): readonly (readonly [string, string])[] => [
    ['Agents', tenantPath(params.tenant_id!, '/agents')],
    ...(tab === null
      ? []
      : [[answers?.agent?.ok ? answers.agent.value.name : 'Agent', tenantPath(params.tenant_id!, `/agents/${params.agent_id}`)] as const]),
  ];

const agentPath = ({ params }: Visit, path: string): string => tenantPath(params.tenant_id!, `/agents/${params.agent_id}${path}`);

const isShown = (visit: Visit, may: MayOnAgent, [, , ...needs]: Tab): boolean =>
  needs.length === 0 || needs.some((one) => (one.startsWith('tenant:') ? visit.may : may)(one));

/** Whether the visitor may start sessions on the tab Sessions. */
const mayStart = (visit: Visit, onAgent: MayOnAgent): boolean =>
  visit.asOf === null && mayCall(visit, visit.rows.startSession, onAgent) && isShown(visit, onAgent, SESSIONS);

const actionsOf = (visit: Visit, current: string, { id, name, is_active }: Agent, onAgent: MayOnAgent): readonly Child[] => {
  const { rows, params } = visit;
  const path = agentParams(visit);
  const returnTo = visit.path;
  const pause = {
    onAgent,
    returnTo,
    icon: 'pause',
    body: { is_active: 'false' },
    confirm: `${name} gets no deliveries until it is activated again. Those that arrive meanwhile are recorded as blocked.`,
  } as const;
  const activate = { onAgent, returnTo, icon: 'play', look: 'primary', body: { is_active: 'true' } } as const;
  const start = a({ class: 'button primary', href: agentPath(visit, SESSIONS[1]) }, icon('play'), span(null, 'Start a session'));
  return [
    is_active && current !== SESSIONS[0] && mayStart(visit, onAgent) ? start : null,
    is_active
      ? actionButton(visit, rows.updateAgent, path, 'Pause', pause)
      : actionButton(visit, rows.updateAgent, path, 'Activate', activate),
    rowMenu('menu-agent', name, [
      formLink(visit, rows.updateAgent, path, 'Edit', { onAgent, returnTo, icon: 'settings' }),
      visit.may('tenant:agents:create')
        ? formLink(visit, rows.cloneAgent, { tenant_id: params.tenant_id!, source_id: id }, 'Clone', { icon: 'copy', returnTo })
        : null,
    ]),
  ];
};

const tabsOf = (visit: Visit, current: string, may: MayOnAgent) =>
  nav(
    { 'aria-label': 'Parts of the agent', class: 'tabs page-tabs' },
    ...TABS.filter((tab) => isShown(visit, may, tab)).map(([label, path]) =>
      a(
        {
          href: agentPath(visit, path),
          'aria-current': label === current ? 'page' : null,
        },
        label,
      ),
    ),
  );

/** Renders a tab of an agent: the heading, the actions that the visitor may use, the row of tabs, and the content. */
export const agentTab = (
  visit: Visit,
  current: string,
  { agent, may }: { readonly agent: Answer<Agent>; readonly may: Effective },
  content: (agent: Agent, onAgent: MayOnAgent) => readonly Child[],
): readonly Child[] => {
  if (!agent.ok) return [heading('Agent', null), problemPanel(agent.problem)];
  const { value } = agent;
  const onAgent = mayOf(may);
  const title = span(null, value.name, ' ', badge(value.is_active ? 'active' : 'paused'));
  return [
    div(
      { 'data-kind': 'agent', 'data-id': value.id, 'data-position': agent.position },
      heading(title, value.description ?? value.slug, ...actionsOf(visit, current, value, onAgent)),
      tabsOf(visit, current, onAgent),
      ...content(value, onAgent),
    ),
  ];
};
