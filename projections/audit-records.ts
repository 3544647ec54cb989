import { type AreaPart, areas } from './areas.ts';
import type { AuditRecord } from './audit-record.ts';

const parts: readonly AreaPart[] = areas;

export const recordsOfAggregates: readonly Readonly<Record<string, AuditRecord>>[] = parts.flatMap(({ audit }) => audit);

/** Maps each event type that the audit log shows to its record. */
export const AUDIT_RECORDS: ReadonlyMap<string, AuditRecord> = new Map(recordsOfAggregates.flatMap((records) => Object.entries(records)));
