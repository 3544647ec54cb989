import { type Mutant, mutant } from './guard.ts';

/**
 * Changed copies of the code (mutants). Each copy lacks one check (guard) of tools, or of the runtime that runners
 * read. The name of a mutant says what is possible without the check.
 */
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
    'await requireRunner(ctx, agent_id);',
    "await requireRunner({ ...ctx, principal: { kind: 'runner' } } as never, agent_id);",
  ),
];
