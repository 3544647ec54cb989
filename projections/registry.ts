import { areas } from './areas.ts';
import { auditHeads } from './audit/audit-head.ts';
import { audit } from './audit/audit-log.ts';
import { benchmarkRuns } from './benchmarks/benchmark-run.ts';

type Listed = (typeof areas)[number]['projections'][number];

const listed: readonly Listed[] = areas.flatMap(({ projections }): readonly Listed[] => projections);
const afterAudit = listed.indexOf(benchmarkRuns);

/** All projections. The worker process keeps them up to date. Those of the audit log show the events of all areas. */
export const projections = [...listed.slice(0, afterAudit), audit, auditHeads, ...listed.slice(afterAudit)] as const;
