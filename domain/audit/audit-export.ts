import type { Recorded } from '../event.ts';

/** Each export has its own stream: an event in the tenant's stream would change the tenant's revision, although an export changes nothing. */
export const category = 'export';

/** `filter`: the query parameters that selected the entries; absent if all were exported. */
export type AuditExportFields = { format: string; position: string; filter?: Readonly<Record<string, string | undefined>> };
export type AuditExportEvent = { type: 'AuditExported'; data: AuditExportFields };
export type AuditExport = { recorded: AuditExportFields | null };

export const initial: AuditExport = { recorded: null };

export const evolve = (_: AuditExport, event: Recorded<AuditExportEvent>): AuditExport => ({ recorded: event.data });

/** `position` is a consistency token. Position, format and filter determine the exported bytes. */
export const recordExport =
  (fields: AuditExportFields) =>
  ({ recorded }: AuditExport): AuditExportEvent[] =>
    recorded === null ? [{ type: 'AuditExported', data: fields }] : [];
