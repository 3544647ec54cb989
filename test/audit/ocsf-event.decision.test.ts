import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AUDIT_FORMATS } from '../../api/audit/export-format.ts';
import { actionOf } from '../../projections/audit/audit-entry.ts';
import { SUMMARIES } from '../../projections/audit/audit-summary.ts';

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

/** Matches the audit log actions that do not create, read, update or delete anything. */
const OTHER =
  /[._](?:refused|refusals_counted|rejected|rejections_counted|redelivery_differed|started|attempt_failed|exhausted|fired|missed|occurrence_skipped|run_requested|succeeded|suppressed|threshold_reached)$/;

test('every audit log action that creates, reads, updates or deletes something has the matching OCSF activity rather than Other', () => {
  const isOther = (action: string): boolean => {
    const entry = { ...AUDIT_ENTRY, action, meta: {}, resource_id: 'r1' };
    return JSON.parse(AUDIT_FORMATS.ocsf.line(JSON.stringify(entry))).activity_id === 99;
  };
  const others = Object.keys(SUMMARIES).map(actionOf).filter(isOther);
  assert.equal(
    others.filter((action) => !OTHER.test(action)),
    [],
  );
  assert.ok(others.includes('access.refused'));
});

test.run();
