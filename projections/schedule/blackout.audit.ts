import type { BlackoutEvent } from '../../domain/schedule/blackout.ts';
import { type AuditOf, allFields } from '../audit-record.ts';

export const blackoutAudit = {
  BlackoutDeclared: { summary: 'declared the blackout {resource}', activity: 'create', first: true, fields: allFields },
  BlackoutChanged: { summary: 'changed {fields} of the blackout {resource}', activity: 'update', fields: allFields },
  BlackoutLifted: { summary: 'lifted the blackout {resource}', activity: 'delete', fields: () => ({ lifted: true }) },
} satisfies AuditOf<BlackoutEvent>;
