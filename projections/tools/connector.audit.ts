import type { ConnectorEvent } from '../../domain/tools/connector.ts';
import type { AuditOf } from '../audit-record.ts';

export const connectorAudit = {
  ConnectorToolsSynced: { summary: 'synced the tools of the connector {connector}', activity: 'update' },
} satisfies AuditOf<ConnectorEvent>;
