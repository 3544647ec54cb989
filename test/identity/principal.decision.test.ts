import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { callerIdOf, callerOf } from '../../domain/principal.ts';

const USER = { kind: 'user', user_id: 'cuser', key_id: null, bound_to: null, super_admin: false } as const;
const RUNNER = { kind: 'runner', agent_id: 'cagent', tenant_id: 'ctenant', key_id: 'ckey' } as const;
const SYSTEM = { kind: 'system', name: 'annals' } as const;

test('the text that identifies a caller never changes, because the names of idempotency streams are derived from it', () => {
  assert.equal([USER, RUNNER, SYSTEM].map(callerOf), ['user cuser', 'runner cagent', 'annals']);
});

test('the caller id of a principal is the id of its user or agent; if the platform itself acts, it is the name of the acting component', () => {
  assert.equal([USER, RUNNER, SYSTEM].map(callerIdOf), ['cuser', 'cagent', 'annals']);
});

test.run();
