import type { z } from 'zod';
import { AuditLogRead } from '../../projections/audit/audit-log.ts';
import { ocsfEvent } from './ocsf-event.ts';

type Line = z.output<typeof AuditLogRead>;

/** A file format of the export. `line` formats one entry; its argument is the JSON text of an AuditLogRead. */
export type AuditFormat = {
  readonly type: string;
  readonly extension: string;
  readonly head: string;
  readonly line: (text: string) => string;
};

/**
 * Matches a text that a spreadsheet would evaluate as a formula (CSV injection, see OWASP). Spreadsheets also accept
 * formulas after blanks and with full-width characters. Such a cell gets an apostrophe as prefix.
 */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/;

/**
 * Formats a CSV cell (RFC 4180). It is quoted only if necessary, with inner quotes doubled. Null becomes an empty cell.
 */
const csvCell = (value: unknown): string => {
  if (value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const escaped = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(escaped) ? `"${escaped.replaceAll('"', '""')}"` : escaped;
};

const COLUMNS = Object.keys(AuditLogRead.shape) as (keyof Line)[];

const csvLine = (text: string): string => {
  const line = JSON.parse(text) as Line;
  return `${COLUMNS.map((name) => csvCell(line[name])).join(',')}\r\n`;
};

/**
 * The export formats by name. The output depends only on the entries, not on the software version or the current time.
 */
export const AUDIT_FORMATS = {
  jsonl: { type: 'application/jsonl', extension: 'jsonl', head: '', line: (text) => `${text}\n` },
  csv: { type: 'text/csv; charset=utf-8', extension: 'csv', head: `${COLUMNS.join(',')}\r\n`, line: csvLine },
  ocsf: {
    type: 'application/vnd.ocsf+jsonl',
    extension: 'ocsf.jsonl',
    head: '',
    line: (text) => `${JSON.stringify(ocsfEvent(JSON.parse(text) as Line))}\n`,
  },
} as const satisfies Record<string, AuditFormat>;

export type AuditFormatName = keyof typeof AUDIT_FORMATS;
