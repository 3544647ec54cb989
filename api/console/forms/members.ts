import { formLayout } from './form-layout.ts';

const ROLES = {
  OWNER: 'May do everything, also close the tenant and change other owners.',
  ADMIN: 'May manage agents, integrations, keys and members, except owners.',
  MEMBER: 'May work with the agents on which they get a role.',
  AUDITOR: 'May read agents, sessions, access and the audit log, and change nothing.',
};

export const memberLayouts = {
  ...formLayout('inviteMember', {
    title: 'Invite a member',
    submit: 'Invite the member',
    sections: [{ items: ['email', 'role'] }],
    fields: { email: { help: null }, role: { cards: ROLES } },
  }),
  ...formLayout('changeMemberRole', {
    submit: 'Save the role',
    sections: [{ items: ['role'] }],
    fields: { role: { cards: ROLES } },
  }),
};
