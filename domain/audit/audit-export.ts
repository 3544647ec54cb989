import type { Recorded } from '../event.ts';

/**
 * Each export of a tenant's audit log has a stream of its own, because reading a resource must not change its revision.
 */
export const category = 'export';

export type AuditExportFields = { format: string; position: string };
export type AuditExportEvent = { type: 'AuditExported'; data: AuditExportFields };
export type AuditExport = { recorded: AuditExportFields | null };

export const initial: AuditExport = { recorded: null };

export const evolve = (_: AuditExport, event: Recorded<AuditExportEvent>): AuditExport => ({ recorded: event.data });

/**
 * Records an export. `position` is the token of the last exported position; with the format, it determines the exported
 * bytes.
 */
export const recordExport =
  (fields: AuditExportFields) =>
  ({ recorded }: AuditExport): AuditExportEvent[] =>
    recorded === null ? [{ type: 'AuditExported', data: fields }] : [];
