import type { ToolEvent } from '../../domain/tools/tool.ts';
import { type AuditOf, allFields } from '../audit-record.ts';

export const toolAudit = {
  ToolRegistered: { summary: 'registered the tool {resource}', activity: 'create', first: true, fields: allFields },
  ToolReserved: {
    summary: 'reserved the tool {resource} for the connector {connector}',
    activity: 'create',
    first: true,
    fields: allFields,
  },
  ToolUpdated: { summary: 'changed {fields} of the tool {resource}', activity: 'update', fields: allFields },
  ToolRemoved: { summary: 'removed the tool {resource}', activity: 'delete', fields: () => ({ removed: true }) },
} satisfies AuditOf<ToolEvent>;
