import type { Recorded } from '../event.ts';

/**
 * Each export of a tenant's audit log is recorded in a stream of its own. An event in the tenant's stream would change
 * the revision of the tenant, although an export changes nothing.
 */
export const category = 'export';

export type AuditExportFields = { format: string; position: string };
export type AuditExportEvent = { type: 'AuditExported'; data: AuditExportFields };
export type AuditExport = { recorded: AuditExportFields | null };

export const initial: AuditExport = { recorded: null };

export const evolve = (_: AuditExport, event: Recorded<AuditExportEvent>): AuditExport => ({ recorded: event.data });

/**
 * Records that the audit log was exported up to `position` (a consistency token). The position and the format determine
 * the exported bytes.
 */
export const recordExport =
  (fields: AuditExportFields) =>
  ({ recorded }: AuditExport): AuditExportEvent[] =>
    recorded === null ? [{ type: 'AuditExported', data: fields }] : [];
