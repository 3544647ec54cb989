import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/cron-occurrences                             tenant:read
GET    /tenant/{tenant_id}/cron-occurrences/summary                     tenant:read
GET    /tenant/{tenant_id}/agents/{agent_id}/cron-jobs                  agent:read
POST   /tenant/{tenant_id}/agents/{agent_id}/cron-jobs                  agent:settings:write
POST   /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/preview          agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}             agent:read
PATCH  /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}             agent:settings:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}             agent:settings:write
POST   /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}/pause       agent:settings:write
POST   /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}/resume      agent:settings:write
POST   /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}/run-now     agent:settings:write
POST   /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}/skip        agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}/runs        agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}/preview     agent:read
GET    /tenant/{tenant_id}/cron-blackouts                               tenant:read
POST   /tenant/{tenant_id}/cron-blackouts                               tenant:settings:write
POST   /tenant/{tenant_id}/cron-blackouts/preview                       tenant:read naming an agent
POST   /tenant/{tenant_id}/cron-blackouts/impact                        tenant:read naming an agent
GET    /tenant/{tenant_id}/cron-blackouts/{id}                          tenant:read
PATCH  /tenant/{tenant_id}/cron-blackouts/{id}                          tenant:settings:write
DELETE /tenant/{tenant_id}/cron-blackouts/{id}                          tenant:settings:write
`,
  withoutAsOf: {
    listCronOccurrences: 'lists a period, of which a part is predicted',
    summarizeCronOccurrences: 'counts a period, of which a part is predicted',
    listCronJobs: 'a list that is not among those of decisions.md; each of them has it',
    listCronRuns: 'decisions that never change',
    listCronBlackouts: 'a list that is not among those of decisions.md; each of them has it',
    previewCronJob: 'the future',
  },
};
