import type { Recorded } from '../event.ts';

/**
 * Each export of a tenant's audit log is recorded in a stream of its own. An event in the tenant's stream would change
 * the revision of the tenant, although an export changes nothing.
 */
export const category = 'export';

/** `filter` has the query parameters that selected the entries; it is absent if there were none. */
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
