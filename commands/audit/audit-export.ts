import * as AuditExport from '../../domain/audit/audit-export.ts';
import type { Ctx } from '../context.ts';

/**
 * Records that the caller exports the audit log. Must be called before the first line is sent.
 * @throws Refusal unavailable
 */
export const recordAuditExport = (ctx: Ctx, fields: AuditExport.AuditExportFields) =>
  ctx.transact(AuditExport, ctx.newId(), AuditExport.recordExport(fields), { expectNew: true });
