import type { UserEvent } from '../../domain/identity/user.ts';
import type { AuditOf } from '../audit-record.ts';

export const userAudit = {
  UserRegistered: {
    summary: 'registered the user {resource}',
    activity: 'create',
    first: true,
    fields: () => ({ is_suspended: false, is_super_admin: false }),
  },
  UserSeen: { summary: 'was active', summaryForPlatform: 'recorded that the user {resource} is active', activity: 'read' },
  UserSuspended: {
    summary: 'suspended the user {resource}',
    activity: 'update',
    severity: 'medium',
    fields: () => ({ is_suspended: true }),
  },
  UserResumed: { summary: 'resumed the user {resource}', activity: 'update', fields: () => ({ is_suspended: false }) },
  SuperAdminGranted: {
    summary: 'made {resource} a super-admin',
    activity: 'assign_privileges',
    privilege: 'super_admin',
    severity: 'high',
    fields: () => ({ is_super_admin: true }),
  },
  SuperAdminRevoked: {
    summary: 'revoked the super-admin rights of {resource}',
    activity: 'revoke_privileges',
    privilege: 'super_admin',
    severity: 'medium',
    fields: () => ({ is_super_admin: false }),
  },
  AgentFavorited: { summary: 'marked the agent {agent} as a favorite', activity: 'update' },
  AgentUnfavorited: { summary: 'removed the agent {agent} from their favorites', activity: 'update' },
} satisfies AuditOf<UserEvent>;
