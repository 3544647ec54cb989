import { audit, table } from './audit.ts';
import type { Condition, Page, PageQuery, Reads } from './reads.ts';

export type AuditFilter = {
  action?: string | undefined;
  actor?: string | undefined;
  resource_type?: string | undefined;
  resource_id?: string | undefined;
  agent_id?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

const conditions = ({ from, to, actor, ...exact }: AuditFilter): Condition[] => [
  ...Object.entries(exact).flatMap(([column, value]): Condition[] => (value === undefined ? [] : [{ column, op: '=', value }])),
  ...(actor === undefined ? [] : [{ column: 'user_id', op: '=', value: actor } as const]),
  ...(from === undefined ? [] : [{ column: 'created_at', op: '>=', value: from } as const]),
  ...(to === undefined ? [] : [{ column: 'created_at', op: '<', value: to } as const]),
];

/** A page of AuditLogRead of one tenant (null: the platform's own), `from` inclusive, `to` exclusive. */
export const auditPage = (
  reads: Reads,
  tenant_id: string | null,
  filter: AuditFilter,
  window: Pick<PageQuery, 'sort' | 'limit' | 'cursor'>,
): Promise<Page> =>
  reads.page({
    from: { projection: audit.name, table },
    where: [{ column: 'tenant_id', op: '=', value: tenant_id }, ...conditions(filter)],
    tieBreak: 'place',
    ...window,
  });

/** The position of a tenant's last event at or before a time, as a token; null where there is none. */
export const positionAt = async (reads: Reads, tenant_id: string, time: string): Promise<string | null> => {
  const where: Condition[] = [
    { column: 'tenant_id', op: '=', value: tenant_id },
    { column: 'created_at', op: '<=', value: time },
  ];
  const newest = { column: 'created_at', descending: true };
  const page = await reads.page({ from: { projection: audit.name, table }, where, sort: newest, tieBreak: 'place', limit: 1 });
  const [last] = JSON.parse(page.body) as { position: string }[];
  return last?.position ?? null;
};
