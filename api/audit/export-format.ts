import type { z } from 'zod';
import { AuditLogRead } from '../../projections/audit/audit-log.ts';
import { csvRow } from '../console/browser/csv-rows.mjs';
import { ocsfEvent } from './ocsf-event.ts';

type Line = z.output<typeof AuditLogRead>;

/** A file format of the export. `line` formats one entry; its argument is the JSON text of an AuditLogRead. */
export type AuditFormat = {
  readonly type: string;
  readonly extension: string;
  readonly head: string;
  readonly line: (text: string) => string;
};

const COLUMNS = Object.keys(AuditLogRead.shape) as (keyof Line)[];

const csvLine = (text: string): string => {
  const line = JSON.parse(text) as Line;
  return csvRow(COLUMNS.map((name) => line[name]));
};

/**
 * The export formats by name. The output depends only on the entries, not on the software version or the current time.
 */
export const AUDIT_FORMATS = {
  jsonl: { type: 'application/jsonl', extension: 'jsonl', head: '', line: (text) => `${text}\n` },
  csv: { type: 'text/csv; charset=utf-8', extension: 'csv', head: csvRow(COLUMNS), line: csvLine },
  ocsf: {
    type: 'application/vnd.ocsf+jsonl',
    extension: 'ocsf.jsonl',
    head: '',
    line: (text) => `${JSON.stringify(ocsfEvent(JSON.parse(text) as Line))}\n`,
  },
} as const satisfies Record<string, AuditFormat>;

export type AuditFormatName = keyof typeof AUDIT_FORMATS;
