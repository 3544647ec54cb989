import { defineList, defineQuery } from '../query.ts';
import { byKey, type Doc, type Page, type PageWindow, type Reads, type Source, tenantCount } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { SkillRead, skillCounter, skills, table } from './skill.ts';

const from: Source<typeof table> = { projection: skills.name, table };

export const SKILL_SORTS = sortFields(table, SkillRead);

export const skillById = (reads: Reads, tenant_id: string, id: string): Promise<Doc | null> => reads.one(from, { tenant_id, id });

/** Returns the present visibility of a skill; null if it does not exist. */
export const visibilityOf = async (reads: Reads, tenant_id: string, id: string): Promise<string | null> =>
  (await byKey<{ visibility: string }>(reads, from, { tenant_id, id }))?.visibility ?? null;

const skillList = defineList({ table }, (db, { tenant_id, visibility }: { tenant_id: string; visibility: string | undefined }) =>
  db
    .selectFrom('skills.skills as skill')
    .where('skill.tenant_id', '=', tenant_id)
    .$if(visibility !== undefined, (query) => query.where('skill.visibility', '=', visibility!)),
);

export const skillPage = (
  reads: Reads,
  { tenant_id, visibility }: { readonly tenant_id: string; readonly visibility?: string | undefined },
  window: PageWindow,
): Promise<Page> => reads.page(skillList, { tenant_id, visibility }, window);

export const skillCount = (reads: Reads, tenant_id: string): Promise<number> =>
  tenantCount(reads, skills.name, skillCounter.table, tenant_id);

/** The maximum number of skills that are returned for one package. */
const MAX_SKILLS = 200;

const withPackage = defineQuery((db, { tenant_id, sha256 }: { tenant_id: string; sha256: string }) =>
  db
    .selectFrom('skills.skills as skill')
    .select(['skill.slug', 'skill.visibility'])
    .where('skill.tenant_id', '=', tenant_id)
    .where('skill.package_digest', '=', sha256)
    .where('skill.deleted', 'is not', true)
    .limit(({ lit }) => lit(MAX_SKILLS)),
);

/** Returns the skills of the tenant whose uploaded archive has this digest. */
export const skillsWithPackage = async (reads: Reads, tenant_id: string, sha256: string) =>
  (await reads.rows(withPackage, { tenant_id, sha256 })).map(({ slug, visibility }) => ({ slug: slug!, visibility: visibility! }));
