import * as AuditExport from '../../domain/audit/audit-export.ts';
import type { Ctx } from '../context.ts';

/** Records that the caller takes the audit log with them; to be called before the first line goes out. @throws Refusal unavailable */
export const recordAuditExport = (ctx: Ctx, fields: AuditExport.AuditExportFields) =>
  ctx.transact(AuditExport, ctx.newId(), AuditExport.recordExport(fields), { expectNew: true });
