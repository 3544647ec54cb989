import type { AgentMemoryEvent } from '../../domain/memory/agent-memory.ts';
import type { AuditOf } from '../audit-record.ts';

export const agentMemoryAudit = {
  MemoryRemembered: { summary: 'added an entry to the memory of the agent {agent}', activity: 'create', about: 'agent' },
  MemoryForgotten: {
    summary: 'removed {entries} remembered entries from the memory of the agent {agent}',
    activity: 'delete',
    about: 'agent',
  },
} satisfies AuditOf<AgentMemoryEvent>;
