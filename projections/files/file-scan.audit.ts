import type { FileScanEvent } from '../../domain/files/file-scan.ts';
import type { AuditOf } from '../audit-record.ts';

export const fileScanAudit = {
  FileScanned: { summary: 'scanned the file {filename}: {verdict}', activity: 'read' },
} satisfies AuditOf<FileScanEvent>;
