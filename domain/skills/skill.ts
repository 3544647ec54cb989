import { hash } from 'node:crypto';
import { applyResets, changedFields } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { omit } from '../omit.ts';
import { Refusal, slugTaken } from '../refusal.ts';

export const category = 'skill';

export const VISIBILITIES = ['private', 'public'] as const;
export type Visibility = (typeof VISIBILITIES)[number];

/** Written by a person or an agent, uploaded as an archive, or installed from the marketplace. */
export const SOURCES = ['authored', 'imported', 'installed'] as const;
export type Source = (typeof SOURCES)[number];

export type SkillFields = {
  name: string;
  slug: string;
  description: string;
  visibility: Visibility;
  instructions: string;
  /** JSON Schema for configurations; null: any object. */
  config_schema: Readonly<Record<string, unknown>> | null;
};

/** Null clears `config_schema` and resets `visibility`; for any other field, null means no change. */
export type SkillChanges = { [Name in keyof Omit<SkillFields, 'slug'>]?: SkillFields[Name] | null | undefined };

/** `digest` of the content (see `digestOf`). */
type NewSkill = SkillFields & { digest: string; generation: number };

/** `package_digest`: SHA-256 of the archive's bytes, under which it is stored; `package_bytes`: its size. */
export type SkillPackage = { readonly package_digest: string; readonly package_bytes: number };

export type SkillOrigin = { readonly listing_id: string; readonly listing_version: string };

export type SkillEvent =
  | { type: 'SkillCreated'; data: NewSkill }
  | { type: 'SkillAuthored'; data: NewSkill & { author_agent_id: string } }
  | { type: 'SkillImported'; data: NewSkill & SkillPackage }
  | { type: 'SkillInstalled'; data: NewSkill & SkillPackage & SkillOrigin }
  | { type: 'SkillUpdated'; data: Partial<Omit<SkillFields, 'slug'>> & { version?: number; digest?: string } }
  | { type: 'SkillDeleted'; data: object };

export type Skill = SkillFields & {
  /** `deleted`: cannot be restored, and another skill can use the slug. */
  status: 'absent' | 'live' | 'deleted';
  id: string;
  tenant_id: string;
  /** 1 for a new skill, and one more after each change of the content. */
  version: number;
  /** The SHA-256 of the content, in hex. */
  digest: string;
  source: Source;
  author_agent_id: string | null;
  package_digest: string | null;
  package_bytes: number | null;
  listing_id: string | null;
  listing_version: string | null;
  is_exposed: boolean;
  created_at: string;
  updated_at: string;
};

export const initial: Skill = {
  status: 'absent',
  id: '',
  tenant_id: '',
  name: '',
  slug: '',
  description: '',
  visibility: 'private',
  instructions: '',
  config_schema: null,
  version: 1,
  digest: '',
  source: 'authored',
  author_agent_id: null,
  package_digest: null,
  package_bytes: null,
  listing_id: null,
  listing_version: null,
  is_exposed: false,
  created_at: '',
  updated_at: '',
};

/** The values that null in a change sets. */
const defaults = { visibility: 'private', config_schema: null } as const;

type CreatedEvent = Exclude<SkillEvent, { type: 'SkillUpdated' | 'SkillDeleted' }>;

const created = (skill: Skill, { id, tenant, type, data, at }: Recorded<CreatedEvent>): Skill => {
  const fields = omit(data, 'generation');
  const source = type === 'SkillImported' ? 'imported' : type === 'SkillInstalled' ? 'installed' : 'authored';
  return { ...skill, ...fields, status: 'live', id, tenant_id: tenant, source, created_at: at, updated_at: at };
};

export const evolve = (skill: Skill, event: Recorded<SkillEvent>): Skill => {
  switch (event.type) {
    case 'SkillCreated':
    case 'SkillAuthored':
    case 'SkillImported':
    case 'SkillInstalled':
      return created(skill, event as Recorded<CreatedEvent>);
    case 'SkillUpdated':
      return { ...skill, ...event.data, updated_at: event.at };
    case 'SkillDeleted':
      return { ...skill, status: 'deleted', updated_at: event.at };
  }
};

type Content = Pick<SkillFields, 'name' | 'description' | 'instructions' | 'config_schema'> & {
  readonly package_digest?: string | null;
};

/** Covers all that an agent gets: name, description, instructions, configuration schema and archive. */
export const digestOf = ({ name, description, instructions, config_schema, package_digest = null }: Content): string =>
  hash('sha256', JSON.stringify([name, description, instructions, config_schema, package_digest]), 'hex');

/** The first event without the fields that `claim` adds. */
export type FirstEvent =
  | { type: 'SkillCreated'; data: SkillFields }
  | { type: 'SkillAuthored'; data: SkillFields & { author_agent_id: string } }
  | { type: 'SkillImported'; data: SkillFields & SkillPackage }
  | { type: 'SkillInstalled'; data: SkillFields & SkillPackage & SkillOrigin };

/** No events if the skill in this stream is deleted: the caller then tries the slug's next generation. @throws Refusal slug_taken */
export const claim =
  (first: FirstEvent, generation: number) =>
  (skill: Skill): SkillEvent[] => {
    if (skill.status === 'live') throw slugTaken(`The slug ${first.data.slug} is taken`);
    if (skill.status === 'deleted') return [];
    return [{ type: first.type, data: { ...first.data, digest: digestOf(first.data), generation } } as CreatedEvent];
  };

/** @throws Refusal not_found */
export const assertExists = (skill: Skill): void => {
  if (skill.status !== 'live') throw new Refusal('not_found', 'There is no such skill');
};

/** A change of the content also changes version and digest. @throws Refusal not_found */
export const update =
  (changes: SkillChanges) =>
  (skill: Skill): SkillEvent[] => {
    assertExists(skill);
    const changed = changedFields(skill, applyResets(changes, defaults));
    if (Object.keys(changed).length === 0) return [];
    const digest = digestOf({ ...skill, ...changed });
    const next = digest === skill.digest ? {} : { version: skill.version + 1, digest };
    return [{ type: 'SkillUpdated', data: { ...changed, ...next } }];
  };

/** Agents cannot use it any more, and another skill can use its slug. @throws Refusal not_found */
export const remove = (skill: Skill): SkillEvent[] => {
  assertExists(skill);
  return [{ type: 'SkillDeleted', data: {} }];
};

/**
 * A public skill: everyone in the tenant. Every skill: an OWNER or ADMIN (`seesAll`). A caller who acts for `agent_id`: also what this
 * agent has written.
 */
export const isVisible = (skill: Skill, { seesAll, agent_id }: { readonly seesAll: boolean; readonly agent_id?: string }): boolean =>
  skill.status === 'live' && (seesAll || skill.visibility === 'public' || (agent_id !== undefined && skill.author_agent_id === agent_id));
