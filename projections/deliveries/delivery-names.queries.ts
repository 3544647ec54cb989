import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

type Named = { readonly tenant_id: string; readonly ids: readonly string[] };

/** Reads the names of agents, and of what deliveries come from: integrations, cron jobs and skills. */
const names = defineQuery((db, { tenant_id, ids }: Named) =>
  db
    .selectFrom('agents.agents as agent')
    .select(['agent.id', 'agent.name'])
    .where('agent.tenant_id', '=', tenant_id)
    .where(({ eb, fn, val }) => eb('agent.id', '=', fn.any(val(ids))))
    .unionAll(
      db
        .selectFrom('integrations.integrations as integration')
        .select(['integration.id', 'integration.label as name'])
        .where('integration.tenant_id', '=', tenant_id)
        .where(({ eb, fn, val }) => eb('integration.id', '=', fn.any(val(ids)))),
    )
    .unionAll(
      db
        .selectFrom('cron_jobs.jobs as job')
        .select(['job.id', 'job.name'])
        .where('job.tenant_id', '=', tenant_id)
        .where(({ eb, fn, val }) => eb('job.id', '=', fn.any(val(ids)))),
    )
    .unionAll(
      db
        .selectFrom('skills.skills as skill')
        .select(['skill.id', 'skill.name'])
        .where('skill.tenant_id', '=', tenant_id)
        .where(({ eb, fn, val }) => eb('skill.id', '=', fn.any(val(ids)))),
    ),
);

/** What a delivery is about: its agent, and what it comes from. */
type About = { readonly agent_id: string | null; readonly integration_id: string | null };

/** The names of what a delivery is about. Null if there are none, as for a benchmark. */
export type DeliveryNames = { readonly agent_name: string | null; readonly integration_label: string | null };

/** Returns the deliveries with the names of their agents, and of what they come from. Deleted ones have theirs, too. */
export const withDeliveryNames = async <T extends About>(
  reads: Pick<Reads, 'rows'>,
  tenant_id: string,
  deliveries: readonly T[],
): Promise<(T & DeliveryNames)[]> => {
  const ids = [...new Set(deliveries.flatMap(({ agent_id, integration_id }) => [agent_id ?? [], integration_id ?? []].flat()))];
  const rows = ids.length === 0 ? [] : await reads.rows(names, { tenant_id, ids });
  const found = new Map<string | null, string | null>(rows.map(({ id, name }) => [id, name]));
  return deliveries.map((delivery) => ({
    ...delivery,
    agent_name: found.get(delivery.agent_id) ?? null,
    integration_label: found.get(delivery.integration_id) ?? null,
  }));
};
