import type { Recorded } from '../event.ts';

/**
 * The export of a tenant's audit log. Each export has its own stream: an event in the tenant's stream would change the
 * revision of the tenant, although an export changes nothing.
 */
export const category = 'export';

/**
 * `filter` contains the query parameters that selected the exported entries. It is absent if all entries were exported.
 */
export type AuditExportFields = { format: string; position: string; filter?: Readonly<Record<string, string | undefined>> };
export type AuditExportEvent = { type: 'AuditExported'; data: AuditExportFields };
export type AuditExport = { recorded: AuditExportFields | null };

export const initial: AuditExport = { recorded: null };

export const evolve = (_: AuditExport, event: Recorded<AuditExportEvent>): AuditExport => ({ recorded: event.data });

/**
 * Records that the audit log was exported up to `position` (a consistency token). The position, the format and the
 * filter determine the exported bytes.
 */
export const recordExport =
  (fields: AuditExportFields) =>
  ({ recorded }: AuditExport): AuditExportEvent[] =>
    recorded === null ? [{ type: 'AuditExported', data: fields }] : [];
