import { defineList } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { table } from './invocation.ts';

type SkillRef = { readonly tenant_id: string; readonly skill_id: string };
type InvocationFilter = { readonly outcome?: string | undefined; readonly from?: string | undefined; readonly to?: string | undefined };

const invocationList = defineList({ table }, (db, { tenant_id, skill_id, outcome, from, to }: SkillRef & InvocationFilter) =>
  db
    .selectFrom('invocations.invocations as invocation')
    .where('invocation.tenant_id', '=', tenant_id)
    .where('invocation.skill_id', '=', skill_id)
    .$if(outcome !== undefined, (query) => query.where('invocation.outcome', '=', outcome!))
    .$if(from !== undefined, (query) => query.where('invocation.at', '>=', from!))
    .$if(to !== undefined, (query) => query.where('invocation.at', '<', to!)),
);

/** Returns a page of the calls of a skill's webhook, as InvocationRead. `from` is inclusive, `to` is exclusive. */
export const invocationPage = (
  reads: Reads,
  { tenant_id, skill_id }: SkillRef,
  { outcome, from, to }: InvocationFilter,
  window: PageWindow,
): Promise<Page> => reads.page(invocationList, { tenant_id, skill_id, outcome, from, to }, window);
