import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { AGENT_FIELDS } from '../../domain/agents/agent-fields.ts';
import { plainFieldsToRead } from '../../domain/agents/plain-settings.ts';
import type { AgentRole } from '../../domain/agents/role-permissions.ts';
import { ROLE_OF_GRANT } from '../../domain/agents/role-permissions.ts';
import { MAX_SORT_KEY, type Position, type Recorded, sortKey } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { usdOf } from '../../domain/money.ts';
import { type Change, insert, type Key, type Projection, patch, type Row, remove } from '../projection.ts';
import type { Table } from '../table.ts';
import { tenantCounter } from '../tenant-counter.ts';

const { environment_mode, iteration_warn_threshold, ...listedSettings } = plainFieldsToRead;

const AgentListFields = z.object({
  id: idOf('agent'),
  tenant_id: idOf('tenant'),
  name: z.string().meta(AGENT_FIELDS.name),
  slug: z.string().meta(AGENT_FIELDS.slug),
  ...listedSettings,
  is_active: z.boolean().meta(AGENT_FIELDS.is_active),
  is_admin_only: z.boolean().meta(AGENT_FIELDS.is_admin_only),
  is_seed: z.boolean().meta(AGENT_FIELDS.is_seed),
  can_author_skills: z.boolean().meta(AGENT_FIELDS.can_author_skills),
  repo_url: z.string().nullable().meta(AGENT_FIELDS.repo_url),
  code_ref: z.string().meta(AGENT_FIELDS.code_ref),
  created_at: Timestamp,
  updated_at: Timestamp,
  created_by_agent_id: z.string().nullable().meta(AGENT_FIELDS.created_by_agent_id),
  created_by_id: z.string().nullable().meta(AGENT_FIELDS.created_by_id),
  zoom_managed: z.boolean().meta(AGENT_FIELDS.zoom_managed),
  kind: z.enum(Agent.AGENT_KINDS).meta(AGENT_FIELDS.kind),
});

export const AgentRead = AgentListFields.extend({
  environment_mode,
  iteration_warn_threshold,
  external_mail_enabled: z.boolean().meta(AGENT_FIELDS.external_mail_enabled),
  skill_visibility_scope: z.enum(Agent.SKILL_VISIBILITY_SCOPES).meta(AGENT_FIELDS.skill_visibility_scope),
  ssh_public_key: z.string().nullable().meta(AGENT_FIELDS.ssh_public_key),
}).meta({ id: 'AgentRead' });

export const AgentListRead = AgentListFields.extend({ is_favorite: z.boolean().default(false).meta(AGENT_FIELDS.is_favorite) }).meta({
  id: 'AgentListRead',
});

export const AgentModelRead = z
  .object({
    agent_id: idOf('agent'),
    model_id: idOf('model'),
    access: z.enum(['full', 'read_only']).meta({ description: 'What the agent may do with the model' }),
    priority: z.int().meta({ description: 'The index in the chain; 0 is the primary model' }),
    created_at: Timestamp.meta({ description: 'When the model was added to the chain' }),
  })
  .meta({ id: 'AgentModelRead' });

/** The model chain as the API returns it. The priority of a model is its index in the chain; 0 is the primary model. */
export const AgentModels = z
  .object({
    id: z.string(),
    models: z.array(z.object({ model_id: z.string(), access: z.enum(['full', 'read_only']), created_at: z.string() })),
  })
  .transform(({ id, models }) => models.map((model, priority) => ({ agent_id: id, ...model, priority })))
  .pipe(z.array(AgentModelRead));

export const AgentBudgetRead = z
  .object({ hourly_limit_usd: z.number().nullable().meta(AGENT_FIELDS.hourly_limit_usd) })
  .meta({ id: 'AgentBudgetRead' });

export const AgentBudget = z
  .object({ hourly_limit_micros: z.int().nullable() })
  .transform(({ hourly_limit_micros }) => ({ hourly_limit_usd: hourly_limit_micros === null ? null : usdOf(hourly_limit_micros) }))
  .pipe(AgentBudgetRead);

export const table = {
  name: 'agents',
  key: ['tenant_id', 'id'],
  stream: 'agent',
  softDelete: 'deleted',
  search: ['name', 'slug'],
  columns: {
    tenant_id: 'text',
    id: 'text',
    name: 'text',
    slug: 'text',
    kind: 'text',
    is_active: 'boolean',
    is_admin_only: 'boolean',
    deleted: 'boolean',
    born: 'text',
    died: 'text',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    models: 'jsonb',
    hourly_limit_micros: 'bigint',
    // The sort key of the last deletion, which took all credentials of the tenant from the agent; empty without one.
    credentials_taken: 'text',
  },
  docs: { doc: AgentRead, list_doc: AgentListRead, models_doc: AgentModels, budget_doc: AgentBudget },
  indexes: [
    { columns: ['tenant_id', 'created_at', 'id'] },
    { columns: ['tenant_id', 'name', 'id'] },
    { columns: ['tenant_id', 'updated_at', 'id'] },
  ],
} as const satisfies Table;

const access = {
  name: 'agent_access',
  key: ['tenant_id', 'agent_id', 'user_id', 'kind'],
  columns: { tenant_id: 'text', agent_id: 'text', user_id: 'text', kind: 'text', role: 'text', given: 'text' },
  docs: {},
  indexes: [{ columns: ['tenant_id', 'user_id', 'agent_id'] }],
} as const satisfies Table;

/**
 * The credentials of the tenant that agents were given. A row can be outdated: the identity may have another
 * `identity_revision` now, or the agent may have been deleted since. `given` is the sort key of the event.
 */
const givenCredentials = {
  name: 'given_credentials',
  key: ['tenant_id', 'identity_id', 'agent_id'],
  columns: {
    ...{ tenant_id: 'text', identity_id: 'text', agent_id: 'text' },
    ...{ identity_revision: 'text', given: 'text', given_at: 'timestamptz' },
  },
  docs: {},
  indexes: [],
} as const satisfies Table;

/** The skills and tools that agents have. An agent that was deleted keeps them, and has them again if it is restored. */
const grantedItems = {
  name: 'granted_items',
  key: ['tenant_id', 'item_id', 'agent_id'],
  columns: { tenant_id: 'text', item_id: 'text', agent_id: 'text' },
  docs: {},
  indexes: [],
} as const satisfies Table;

const grantKey = ({ tenant, id }: EventOfAgent, item_id: string): Key => ({ tenant_id: tenant, item_id, agent_id: id });

const credentialKey = ({ tenant, id }: EventOfAgent, identity_id: string): Key => ({ tenant_id: tenant, identity_id, agent_id: id });

const givenRow = (event: Recorded<Extract<Agent.AgentEvent, { type: 'AgentCredentialGiven' }>>): Row => {
  const { identity_id, identity_revision } = event.data;
  const given = { identity_revision: String(identity_revision), given: sortKey(event.position), given_at: event.at };
  return { ...credentialKey(event, identity_id), ...given };
};

export const agentCounter = tenantCounter('agent', 'agents');

/**
 * Returns a change that sets only `updated_at`. Changes of roles or grants need it: they change no other column of the
 * agent, but every event of the agent's stream changes its ETag.
 */
const touch = (event: EventOfAgent): Change => patch('agents', keyOf(event), { updated_at: event.at });

type EventOfAgent = { tenant: string; id: string; at: string; position: Position };

/**
 * Returns a change that stores a user's role on an agent. `kind` says whether the role was assigned or comes from a
 * grant.
 */
const addAccess = ({ tenant, id, position }: EventOfAgent, kind: 'role' | 'grant', user_id: string, role: AgentRole): Change =>
  insert('agent_access', { tenant_id: tenant, agent_id: id, user_id, kind, role, given: sortKey(position) });

const removeAccess = ({ tenant, id }: EventOfAgent, kind: 'role' | 'grant', user_id: string): Change =>
  remove('agent_access', { tenant_id: tenant, agent_id: id, user_id, kind });

const keyOf = ({ tenant, id }: { tenant: string; id: string }): Key => ({ tenant_id: tenant, id });

const patchChain = (event: EventOfAgent & { data: { models: readonly Agent.ChainLink[] } }): Change =>
  patch('agents', keyOf(event), { models: Agent.modelsOf(event.data.models, event.at), updated_at: event.at });

/** The parts of an agent's state that are not in its row. */
const NOT_IN_ROW: ReadonlySet<string> = new Set<keyof Agent.Agent>([
  'status',
  'roles',
  'grants',
  'admin_only_by',
  'inherited_slack_config',
  'skills',
  'skill_permissions',
  'tools',
  'credentials',
]);

const insertAgent = (event: Recorded<Extract<Agent.AgentEvent, { type: 'AgentCreated' | 'AgentCloned' }>>): Change[] => {
  const agent = Object.entries(Agent.evolve(Agent.initial, event)).filter(([name]) => !NOT_IN_ROW.has(name));
  const { owner_id } = event.data;
  const owner = owner_id ? [addAccess(event, 'role', owner_id, 'OWNER')] : [];
  const row = { ...Object.fromEntries(agent), born: sortKey(event.position), died: MAX_SORT_KEY, deleted: false, credentials_taken: '' };
  const granted =
    event.type === 'AgentCreated' ? [] : [...event.data.skills.map((one) => one.skill_id), ...event.data.tools.map((one) => one.tool_id)];
  const items = granted.map((item_id) => insert('granted_items', grantKey(event, item_id)));
  return [insert('agents', row), ...owner, ...items, agentCounter.add(event.tenant, 1)];
};

/** The agents with their model chains, skills and tools, the users who have access to them, and the number of agents in each tenant. */
export const agents = {
  name: 'agents',
  version: 9,
  categories: ['agent'],
  tables: [table, access, givenCredentials, grantedItems, agentCounter.table],
  on: {
    AgentCreated: insertAgent,
    AgentCloned: insertAgent,
    AgentRoleAssigned: (event) => [touch(event), addAccess(event, 'role', event.data.user_id, event.data.role)],
    AgentRoleRevoked: (event) => [touch(event), removeAccess(event, 'role', event.data.user_id)],
    AgentOwnershipTransferred: (event) => [
      touch(event),
      ...event.data.old_owner_ids.map((user_id) => addAccess(event, 'role', user_id, 'MANAGER')),
      addAccess(event, 'role', event.data.new_owner_id, 'OWNER'),
    ],
    AgentAccessGranted: (event) => [touch(event), addAccess(event, 'grant', event.data.user_id, ROLE_OF_GRANT[event.data.role])],
    AgentAccessRevoked: (event) => [touch(event), removeAccess(event, 'grant', event.data.user_id)],
    AgentToolGranted: (event) => [touch(event), insert('granted_items', grantKey(event, event.data.tool_id))],
    AgentToolRevoked: (event) => [touch(event), remove('granted_items', grantKey(event, event.data.tool_id))],
    AgentCredentialGiven: (event) => [touch(event), insert('given_credentials', givenRow(event))],
    AgentCredentialTaken: (event) => [touch(event), remove('given_credentials', credentialKey(event, event.data.identity_id))],
    AgentUpdated: (event) => patch('agents', keyOf(event), { ...event.data, updated_at: event.at }),
    AgentActivated: (event) => patch('agents', keyOf(event), { is_active: true, updated_at: event.at }),
    AgentDeactivated: (event) => patch('agents', keyOf(event), { is_active: false, updated_at: event.at }),
    AgentSkillAuthoringChanged: (event) => patch('agents', keyOf(event), { ...event.data, updated_at: event.at }),
    AgentSkillVisibilityScopeChanged: (event) => patch('agents', keyOf(event), { ...event.data, updated_at: event.at }),
    AgentBudgetChanged: (event) => patch('agents', keyOf(event), { ...event.data, updated_at: event.at }),
    AgentRepoLinked: (event) => patch('agents', keyOf(event), { ...event.data, updated_at: event.at }),
    AgentCodeRefPinned: (event) => patch('agents', keyOf(event), { ...event.data, updated_at: event.at }),
    AgentAdminOnlyChanged: (event) => patch('agents', keyOf(event), { ...event.data, updated_at: event.at }),
    AgentModelChainReordered: patchChain,
    AgentModelGranted: patchChain,
    AgentModelRevoked: patchChain,
    AgentSkillGranted: (event) => [touch(event), insert('granted_items', grantKey(event, event.data.skill_id))],
    AgentSkillRevoked: (event) => [touch(event), remove('granted_items', grantKey(event, event.data.skill_id))],
    AgentSkillConfigReplaced: touch,
    AgentSkillConfigResealed: touch,
    AgentSkillConfigCleared: touch,
    AgentSkillPermissionsReplaced: touch,
    AgentDeleted: (event) => [
      patch('agents', keyOf(event), {
        ...{ deleted: true, died: sortKey(event.position), credentials_taken: sortKey(event.position), updated_at: event.at },
      }),
      agentCounter.add(event.tenant, -1),
    ],
    AgentRestored: (event) => {
      const { of_revision, models, ...fields } = event.data;
      const chain = models ? { models: Agent.modelsOf(models, event.at) } : {};
      const change = patch('agents', keyOf(event), { ...fields, ...chain, deleted: false, died: MAX_SORT_KEY, updated_at: event.at });
      return of_revision === null ? [change, agentCounter.add(event.tenant, 1)] : change;
    },
    AgentSlugReleased: 'ignore',
  },
} as const satisfies Projection<Agent.AgentEvent>;
