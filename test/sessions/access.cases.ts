import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
POST   /tenant/{tenant_id}/agents/{agent_id}/sessions                   agent:assign + runner
GET    /tenant/{tenant_id}/agents/{agent_id}/settled-messages           agent:read + runner
GET    /tenant/{tenant_id}/agents/{agent_id}/sessions                   agent:chat:read + runner
GET    /tenant/{tenant_id}/sessions/{session_id}                        agent:chat:read + runner on session
POST   /tenant/{tenant_id}/sessions/{session_id}/messages               agent:assign + runner on session
GET    /tenant/{tenant_id}/approvals                                    tenant:read
GET    /tenant/{tenant_id}/sessions/{session_id}/messages/{message_id}/approval  agent:chat:read + runner on session
POST   /tenant/{tenant_id}/sessions/{session_id}/messages/{message_id}/decision  agent:assign + runner on session but runners
POST   /tenant/{tenant_id}/sessions/{session_id}/attachments            agent:assign + runner on session
POST   /tenant/{tenant_id}/sessions/{session_id}/complete               any + runner only on session
POST   /tenant/{tenant_id}/sessions/{session_id}/fail                   any + runner only on session
POST   /tenant/{tenant_id}/sessions/{session_id}/cancel                 agent:assign + runner on session
POST   /tenant/{tenant_id}/sessions/{session_id}/continue               agent:assign + runner on session
PUT    /tenant/{tenant_id}/sessions/{session_id}/draft                  any + runner only on session
GET    /tenant/{tenant_id}/sessions/{session_id}/draft                  agent:chat:read + runner on session
POST   /tenant/{tenant_id}/sessions/{session_id}/interrupt              agent:assign + runner on session but runners
GET    /tenant/{tenant_id}/sessions                                     tenant:read
GET    /v1/tenants/{tenant_id}/sessions                                 tenant:audit:read
GET    /v1/tenants/{tenant_id}/sessions/{session_id}                    tenant:audit:read
`,
  withoutAsOf: {
    getSessionDraft: 'what the agent is writing now',
    listSettledMessages: 'what runners have acknowledged by now',
    listApprovals: 'a list that is not among those of decisions.md; each of them has it',
    listSessions: 'a list that is not among those of decisions.md; each of them has it',
    listReadableSessions: 'a list that is not among those of decisions.md; each of them has it',
    listTenantSessions: 'a list that is not among those of decisions.md; each of them has it',
  },
};
