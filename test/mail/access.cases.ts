import type { AreaCases } from '../fixtures/area-cases.ts';

export const cases: AreaCases = {
  access: `
GET    /tenant/{tenant_id}/agents/{agent_id}/mailboxes                  agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/attachments                agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/attachments/{id}           agent:chat:read + runner
GET    /tenant/{tenant_id}/agents/{agent_id}/messages                   agent:chat:read
GET    /tenant/{tenant_id}/agents/{agent_id}/messages/{message_id}      agent:chat:read
POST   /tenant/{tenant_id}/agents/{agent_id}/messages/{message_id}/attachments agent:assign + runner
POST   /tenant/{tenant_id}/agents/{agent_id}/mail                       agent:assign + runner
`,
  withoutAsOf: {
    listMessages: 'a list that is not among those of decisions.md; each of them has it',
    listAgentMailboxes: 'a list that is not among those of decisions.md',
    listAgentAttachments: 'a list that is not among those of decisions.md',
    getMailAttachment: 'bytes that never change',
  },
};
