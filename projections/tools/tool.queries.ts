import { defineList } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { ToolRead, table } from './tool.ts';

export const TOOL_SORTS = sortFields(table, ToolRead);

const toolList = defineList({ table }, (db, { tenant_id }: { tenant_id: string }) =>
  db.selectFrom('tools.tools as tool').where('tool.tenant_id', '=', tenant_id),
);

export const toolPage = (reads: Reads, tenant_id: string, window: PageWindow): Promise<Page> => reads.page(toolList, { tenant_id }, window);
