import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endedAttempts } from '../../api/http/attempt-cookies.ts';

const named = (prefix: string, from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, n) => `${prefix}${String(from + n).padStart(8, '0')}`);
const header = (names: readonly string[]): string => names.map((name) => `${name}=v=${'x'.repeat(300)}`).join('; ');
const FLOW = 'annals_flow_';
const LINK = 'annals_link_';

/** Cookies of a browser, the oldest first, and the names of those that must end. */
const CASES: Readonly<Record<string, [cookies: readonly string[], ended: readonly string[]]>> = {
  'no cookie': [[], []],
  'a session only': [['annals_session_4100'], []],
  'one attempt': [named(FLOW, 0, 1), []],
  'ten attempts': [named(FLOW, 0, 10), []],
  'eleven attempts': [named(FLOW, 0, 11), named(FLOW, 0, 1)],
  '45 attempts': [named(FLOW, 0, 45), named(FLOW, 0, 35)],
  '45 attempts to connect an account': [named(LINK, 0, 45), named(LINK, 0, 35)],
  'both kinds': [[...named(LINK, 0, 6), ...named(FLOW, 0, 6)], named(LINK, 0, 2)],
  'under https': [named(`__Host-${FLOW}`, 0, 12), named(`__Host-${FLOW}`, 0, 2)],
  'between other cookies': [['a', ...named(FLOW, 0, 11), 'annals_session', 'annals_theme'], named(FLOW, 0, 1)],
  'many cookies of others': [[...named('other_', 0, 50), ...named(FLOW, 0, 10)], []],
  'names that only look alike': [named('my_annals_flow_', 0, 20), []],
};

test('a browser keeps its ten newest attempts; all older ones end, and no others', () => {
  for (const [name, [cookies, ended]] of Object.entries(CASES))
    assert.equal(
      endedAttempts(header(cookies)).map((cookie) => cookie.split('=')[0]!),
      ended,
      name,
    );
});

test('the cookie of an attempt ends with the attributes with which it was set', () => {
  const [plain] = endedAttempts(header(named(FLOW, 0, 11)));
  const [secure] = endedAttempts(header(named(`__Host-${FLOW}`, 0, 11)));
  assert.is(plain, 'annals_flow_00000000=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax');
  assert.is(secure, '__Host-annals_flow_00000000=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax');
});

test.run();
