import type { ModelEvent } from '../../domain/agents/model.ts';
import { type AuditOf, allFields } from '../audit-record.ts';

export const modelAudit = {
  ModelRegistered: { summary: 'registered the model {resource}', activity: 'create', first: true, fields: allFields },
  ModelUpdated: { summary: 'changed {fields} of the model {resource}', activity: 'update', fields: allFields },
  ModelStatusChanged: { summary: 'changed the status of the model {resource} to {status}', activity: 'update', fields: allFields },
  ModelOpenedToTenant: {
    summary: 'opened the model {resource} to a tenant',
    activity: 'update',
    fields: ({ tenant_id }) => ({ [`open_to/${tenant_id}`]: true }),
  },
  ModelClosedToTenant: {
    summary: 'closed the model {resource} to a tenant',
    activity: 'update',
    fields: ({ tenant_id }) => ({ [`open_to/${tenant_id}`]: null }),
  },
} satisfies AuditOf<ModelEvent>;
