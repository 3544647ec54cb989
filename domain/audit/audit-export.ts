import type { Recorded } from '../event.ts';

/**
 * Each export of a tenant's audit log has a stream of its own: an event in the tenant's stream would change the
 * tenant's revision, although an export only reads.
 */
export const category = 'export';

export type AuditExportFields = { format: string; position: string };
export type AuditExportEvent = { type: 'AuditExported'; data: AuditExportFields };
export type AuditExport = { recorded: AuditExportFields | null };

export const initial: AuditExport = { recorded: null };

export const evolve = (_: AuditExport, event: Recorded<AuditExportEvent>): AuditExport => ({ recorded: event.data });

/**
 * Records an export. `position` is the consistency token of the last exported event. Position and format determine the
 * exported bytes.
 */
export const recordExport =
  (fields: AuditExportFields) =>
  ({ recorded }: AuditExport): AuditExportEvent[] =>
    recorded === null ? [{ type: 'AuditExported', data: fields }] : [];
