import { type Mutant, mutant } from './guard.ts';

/** Mutants without one of the guards of tools and of the runtime that runners read. Each name describes the fault. */
export const TOOL_GUARDS: readonly Mutant[] = [
  mutant(
    "tools: the list shows every tenant's",
    'projections/tools/tool.queries.ts',
    "db.selectFrom('tools.tools as tool').where('tool.tenant_id', '=', tenant_id)",
    "db.selectFrom('tools.tools as tool').$if(tenant_id === '', (query) => query.where('tool.id', '=', ''))",
  ),
  mutant(
    'runtime: everybody who may read the agent reads it',
    'commands/runners/agent-runtime.ts',
    '  await requireRunner(ctx, agent_id);\n',
    '',
  ),
];
