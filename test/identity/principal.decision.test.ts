import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { callerIdOf, callerOf } from '../../domain/principal.ts';

const USER = { kind: 'user', user_id: 'cuser', key_id: null, bound_to: null, super_admin: false } as const;
const RUNNER = { kind: 'runner', agent_id: 'cagent', tenant_id: 'ctenant', key_id: 'ckey' } as const;
const SYSTEM = { kind: 'system', name: 'annals' } as const;

test('the text of a caller, from which Idempotency-Key streams are derived, never changes', () => {
  assert.equal([USER, RUNNER, SYSTEM].map(callerOf), ['user cuser', 'runner cagent', 'annals']);
});

test('a caller is identified by the id of the user or agent, or by the name of the part of the platform', () => {
  assert.equal([USER, RUNNER, SYSTEM].map(callerIdOf), ['cuser', 'cagent', 'annals']);
});

test.run();
