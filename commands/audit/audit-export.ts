import * as AuditExport from '../../domain/audit/audit-export.ts';
import type { Ctx } from '../context.ts';

/**
 * Records an export of the audit log and who requested it. This must succeed before the response contains any entry.
 * @throws Refusal unavailable
 */
export const recordAuditExport = (ctx: Ctx, fields: AuditExport.AuditExportFields) =>
  ctx.transact(AuditExport, ctx.newId(), AuditExport.recordExport(fields), { expectNew: true });
