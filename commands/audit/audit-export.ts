import * as AuditExport from '../../domain/audit/audit-export.ts';
import type { Ctx } from '../context.ts';

/** No entry is sent before this has succeeded. @throws Refusal unavailable */
export const recordAuditExport = (ctx: Ctx, fields: AuditExport.AuditExportFields) =>
  ctx.transact(AuditExport, ctx.newId(), AuditExport.recordExport(fields), { expectNew: true });
