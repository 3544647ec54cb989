import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AUDIT_FORMATS } from '../../api/audit/export-format.ts';
import { actionOf } from '../../projections/audit/audit-entry.ts';
import type { AuditActivity } from '../../projections/audit-record.ts';
import { AUDIT_RECORDS } from '../../projections/audit-records.ts';

const AUDIT_ENTRY = {
  id: 'e1',
  tenant_id: 't1',
  user_id: 'actor',
  agent_id: null,
  resource_type: 'user',
  ip: null,
  user_agent: null,
  created_at: '2026-11-22T17:04:39.151Z',
  position: '1:1',
  actor: { kind: 'user', id: 'actor', name: 'Ada', email: 'ada@example.com', key_id: 'key' },
  resource_name: null,
  changes: [],
  summary: 'Ada did it.',
  request_id: 'request',
};

test('in OCSF events, actions on members, roles and super-admins and sign-ins each have a class of their own, and dangerous actions have a severity above 1', () => {
  const entry = { ...AUDIT_ENTRY, meta: { user_id: 'u1', new_owner_id: 'u1', role: 'ADMIN' }, resource_id: 'u1' };
  for (const [action, class_uid, activity, severity, user] of [
    ['member.added', 3006, 'Add User', 2, 'u1'],
    ['member.removed', 3006, 'Remove User', 2, 'u1'],
    ['member.role_changed', 3005, 'Assign Privileges', 2, 'u1'],
    ['agent.role_assigned', 3005, 'Assign Privileges', 2, 'u1'],
    ['agent.access_revoked', 3005, 'Revoke Privileges', 2, 'u1'],
    ['agent.ownership_transferred', 3005, 'Assign Privileges', 2, 'u1'],
    ['super_admin.granted', 3005, 'Assign Privileges', 4, 'u1'],
    ['super_admin.revoked', 3005, 'Revoke Privileges', 3, 'u1'],
    ['signed.in', 3002, 'Logon', 1, 'actor'],
    ['signed.out', 3002, 'Logoff', 1, 'actor'],
    ['access.refused', 6003, 'access.refused', 3, undefined],
    ['agent.updated', 6003, 'Update', 1, undefined],
  ] as const) {
    const event = JSON.parse(AUDIT_FORMATS.ocsf.line(JSON.stringify({ ...entry, action })));
    assert.equal(
      [event.class_uid, event.activity_name, event.severity_id, event.user?.uid, event.category_uid],
      [class_uid, activity, severity, user, class_uid === 6003 ? 6 : 3],
      action,
    );
    assert.equal([event.actor.session.credential_uid, event.metadata.correlation_uid], ['key', 'request']);
    if (class_uid === 3005) assert.is(event.privileges.length, 1, action);
    if (class_uid === 3006) assert.equal(event.group, { uid: 't1', type: 'tenant' });
  }
});

const ACTIVITY_NAMES: Readonly<Record<AuditActivity, string | null>> = {
  create: 'Create',
  read: 'Read',
  update: 'Update',
  delete: 'Delete',
  other: null,
  logon: 'Logon',
  logoff: 'Logoff',
  add_user: 'Add User',
  remove_user: 'Remove User',
  assign_privileges: 'Assign Privileges',
  revoke_privileges: 'Revoke Privileges',
};

test('the OCSF event of every action has the activity, severity and status that the audit record of its event states', () => {
  for (const [type, { activity, severity = 'informational', refused = false }] of AUDIT_RECORDS) {
    const action = actionOf(type);
    const event = JSON.parse(AUDIT_FORMATS.ocsf.line(JSON.stringify({ ...AUDIT_ENTRY, action, meta: {}, resource_id: 'r1' })));
    assert.equal(
      [event.activity_name, event.activity_id === 99, event.severity_id, event.status_id],
      [
        ACTIVITY_NAMES[activity] ?? action,
        activity === 'other',
        ['informational', 'low', 'medium', 'high'].indexOf(severity) + 1,
        refused ? 2 : 1,
      ],
      type,
    );
  }
});

test('the OCSF event of an action that this version does not know has the activity Other', () => {
  const entry = { ...AUDIT_ENTRY, action: 'robot.created', meta: {}, resource_id: 'r1' };
  const event = JSON.parse(AUDIT_FORMATS.ocsf.line(JSON.stringify(entry)));
  assert.equal([event.class_uid, event.activity_id, event.activity_name, event.severity_id], [6003, 99, 'robot.created', 1]);
});

test.run();
