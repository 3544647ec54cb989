import type { DisclosureEvent } from '../../domain/audit/disclosure.ts';
import type { AuditOf } from '../audit-record.ts';

export const disclosureAudit = {
  SkillConfigDisclosed: {
    summary: 'read the configuration of the skill {skill} of the agent {resource}',
    activity: 'read',
    about: 'agent',
  },
  RuntimeDisclosed: { summary: 'read the runtime of the agent {resource}', activity: 'read', about: 'agent' },
  MemoryDisclosed: { summary: 'read {entries} entries of the memory of the agent {resource}', activity: 'read', about: 'agent' },
} satisfies AuditOf<DisclosureEvent>;
