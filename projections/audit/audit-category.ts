import { type AreaPart, areas } from '../areas.ts';
import { AUDIT_CATEGORIES, type AuditCategory } from '../audit-record.ts';
import { AUDIT_RECORDS } from '../audit-records.ts';
import { actionOf } from './audit-entry.ts';

const parts: readonly AreaPart[] = areas;

const BY_START = parts
  .flatMap(({ actions }) => AUDIT_CATEGORIES.flatMap((category) => (actions[category] ?? []).map((start) => ({ category, start }))))
  .toSorted((one, other) => other.start.length - one.start.length);

/** Returns the category of an action; null for those that are about the tenant or the platform as a whole. */
export const categoryOf = (action: string): AuditCategory | null =>
  BY_START.find(({ start }) => action.startsWith(start))?.category ?? null;

const ACTIONS = [...AUDIT_RECORDS.keys()].map(actionOf);

export const actionsOf = (category: AuditCategory): readonly string[] => ACTIONS.filter((action) => categoryOf(action) === category);
