import type { Recorded } from '../event.ts';

/** Who took a tenant's audit log with them: one stream each, so that no resource's revision moves by being looked at. */
export const category = 'export';

export type AuditExportFields = { format: string; position: string };
export type AuditExportEvent = { type: 'AuditExported'; data: AuditExportFields };
export type AuditExport = { taken: AuditExportFields | null };

export const initial: AuditExport = { taken: null };

export const evolve = (_: AuditExport, event: Recorded<AuditExportEvent>): AuditExport => ({ taken: event.data });

/** `position` is the token up to which the log was handed out: with the format it says which bytes. */
export const recordExport =
  (fields: AuditExportFields) =>
  ({ taken }: AuditExport): AuditExportEvent[] =>
    taken === null ? [{ type: 'AuditExported', data: fields }] : [];
