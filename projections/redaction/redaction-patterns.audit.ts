import type { RedactionPatternsEvent } from '../../domain/redaction/redaction-patterns.ts';
import type { AuditOf } from '../audit-record.ts';

export const redactionPatternsAudit = {
  RedactionPatternsReplaced: { summary: 'replaced the redaction patterns', activity: 'update' },
} satisfies AuditOf<RedactionPatternsEvent>;
