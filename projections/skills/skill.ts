import { z } from 'zod';
import type { Recorded } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { omit } from '../../domain/omit.ts';
import type { SkillWebhookEvent } from '../../domain/skill-calls/skill-webhook.ts';
import * as Skill from '../../domain/skills/skill.ts';
import { type Change, type Changes, insert, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';
import { tenantCounter } from '../tenant-counter.ts';

const DIGEST = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';

export const SkillRead = z
  .object({
    id: idOf('skill'),
    tenant_id: idOf('tenant'),
    name: z.string().meta({ description: 'What people see in lists', examples: ['Summarize pull requests'] }),
    slug: z.string().meta({ description: 'Unique in the tenant', examples: ['summarize-pull-requests'] }),
    description: z.string().meta({
      description: 'What the skill does, and when to use it',
      examples: ['Summarizes a pull request in five sentences'],
    }),
    visibility: z
      .enum(Skill.VISIBILITIES)
      .meta({ description: '`public`: every member sees it; `private`: only OWNER and ADMIN, and the agent that authored it' }),
    instructions: z.string().meta({
      description: 'What the agent does with the skill',
      examples: ['Read the diff. Then write five sentences about it.'],
    }),
    config_schema: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'The JSON Schema that the configuration must match; null: any object', examples: [null] }),
    version: z.int().meta({ description: 'One more with each change of the content', examples: [1] }),
    digest: z.string().meta({
      description: 'The SHA-256 of the content: name, description, instructions, `config_schema` and archive',
      examples: [DIGEST],
    }),
    is_exposed: z.boolean().meta({ description: 'Whether the skill has a webhook URL' }),
    source: z.enum(Skill.SOURCES).meta({ description: 'Written here, uploaded as an archive, or from the marketplace' }),
    author_agent_id: z
      .string()
      .nullable()
      .meta({ description: 'The agent that authored it; null if it was none', examples: [null] }),
    package_digest: z
      .string()
      .nullable()
      .meta({ description: 'The SHA-256 of the uploaded archive; null if there is none', examples: [null] }),
    package_bytes: z
      .int()
      .nullable()
      .meta({ description: 'The size of the uploaded archive; null if there is none', examples: [null] }),
    listing_id: z
      .string()
      .nullable()
      .meta({ description: 'The listing of the marketplace from which it was installed; null if it was not', examples: [null] }),
    listing_version: z
      .string()
      .nullable()
      .meta({ description: 'The version that was installed; null if it was not', examples: [null] }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'SkillRead' });

export const table = {
  name: 'skills',
  key: ['tenant_id', 'id'],
  stream: 'skill',
  softDelete: 'deleted',
  search: ['name', 'slug'],
  columns: {
    tenant_id: 'text',
    id: 'text',
    name: 'text',
    slug: 'text',
    visibility: 'text',
    source: 'text',
    version: 'integer',
    author_agent_id: 'text',
    package_digest: 'text',
    deleted: 'boolean',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  docs: { doc: SkillRead },
  indexes: [
    { columns: ['tenant_id', 'created_at', 'id'] },
    { columns: ['tenant_id', 'package_digest', 'id'], withoutNull: 'package_digest' },
  ],
} as const satisfies Table;

export const skillCounter = tenantCounter('skill', 'skills');

const insertSkill = (event: Parameters<typeof Skill.evolve>[1]): Changes => {
  const row = omit(Skill.evolve(Skill.initial, event), 'status');
  return [insert('skills', { ...row, deleted: false }), skillCounter.add(event.tenant, 1)];
};

/**
 * Returns a function for the changes of a skill's webhook, whose id is the id of the skill. The row of a deleted skill
 * is kept until its webhook is hidden.
 */
const patchExposure =
  (is_exposed: boolean) =>
  ({ id, meta }: Recorded): Change =>
    patch('skills', { tenant_id: meta.tenant, id }, { is_exposed });

/** The skills of all tenants, and the number of skills of each tenant. */
export const skills = {
  name: 'skills',
  version: 5,
  categories: ['skill', 'skillwebhook'],
  tables: [table, skillCounter.table],
  on: {
    SkillCreated: insertSkill,
    SkillAuthored: insertSkill,
    SkillImported: insertSkill,
    SkillInstalled: insertSkill,
    SkillUpdated: ({ tenant, id, at, data }) => patch('skills', { tenant_id: tenant, id }, { ...data, updated_at: at }),
    SkillDeleted: ({ tenant, id, at }) => [
      patch('skills', { tenant_id: tenant, id }, { deleted: true, updated_at: at }),
      skillCounter.add(tenant, -1),
    ],
    SkillWebhookExposed: patchExposure(true),
    SkillWebhookHidden: patchExposure(false),
    SkillWebhookTokenRotated: 'ignore',
  },
} as const satisfies Projection<Skill.SkillEvent | SkillWebhookEvent>;
