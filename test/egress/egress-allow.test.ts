import * as assert from 'uvu/assert';
import { createEgressRules, destinationOf } from '../../infra/egress/egress-rules.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

/**
 * Returns whether these entries of EGRESS_ALLOW permit a request to the URL, if its host name resolves to `address`.
 */
const isAllowed = (allow: readonly string[], url: string, address: string): boolean => {
  const rules = createEgressRules({ allow });
  try {
    rules.checkAddress(destinationOf(rules.checkUrl(url)), address);
    return true;
  } catch {
    return false;
  }
};

type Case = readonly [condition: string, allow: string[], url: string, address: string, expected: boolean];

const CASES: readonly Case[] = [
  ['a host name allows that host', ['git.internal'], 'http://git.internal:3000/a', '10.0.0.5', true],
  ['a host name allows the same name in upper case and with a final dot', ['Git.Internal'], 'https://GIT.internal./a', '10.0.0.5', true],
  ['a host name does not allow its subdomains', ['git.internal'], 'https://a.git.internal/a', '10.0.0.5', false],
  ['a host name does not allow names with the same ending', ['git.internal'], 'https://widgit.internal/a', '10.0.0.5', false],
  ['a host and port allow that host on that port', ['git.internal:3000'], 'http://git.internal:3000/a', '10.0.0.5', true],
  ['a host and port do not allow another port', ['git.internal:3000'], 'https://git.internal/a', '10.0.0.5', false],
  ['a range allows an address in it', ['10.0.0.0/8'], 'http://10.1.2.3:8080/a', '10.1.2.3', true],
  ['a range does not allow an address outside of it', ['10.0.0.0/16'], 'https://10.1.2.3/a', '10.1.2.3', false],
  ['a range allows a name that resolves into it', ['10.0.0.0/8'], 'https://git.example.com/a', '10.1.2.3', true],
  ['a range does not allow HTTP to a name that resolves into it', ['10.0.0.0/8'], 'http://git.example.com/a', '10.1.2.3', false],
  ['an address allows that address', ['127.0.0.1'], 'http://127.0.0.1:9/a', '127.0.0.1', true],
  ['an address does not allow the next address', ['127.0.0.1'], 'http://127.0.0.2:9/a', '127.0.0.2', false],
  ['an address and port allow that address on that port', ['127.0.0.1:9'], 'http://127.0.0.1:9/a', '127.0.0.1', true],
  ['an address and port do not allow another port', ['127.0.0.1:9'], 'http://127.0.0.1:10/a', '127.0.0.1', false],
  ['an IPv6 address and port allow that address on that port', ['[::1]:9'], 'http://[::1]:9/a', '::1', true],
  ['an IPv6 range allows an address in it', ['fd00::/8'], 'https://git.example.com/a', 'fd12::1', true],
  ['an IPv4 address also allows its IPv6 form', ['127.0.0.1'], 'https://[::ffff:127.0.0.1]/a', '127.0.0.1', true],
  ['an empty list allows a public host', [], 'https://git.example.com/a', '8.8.8.8', true],
  ['an empty list does not allow a private host', [], 'https://git.example.com/a', '10.1.2.3', false],
];

for (const [condition, allow, url, address, expected] of CASES)
  test(`in EGRESS_ALLOW, ${condition}`, () => assert.is(isAllowed(allow, url, address), expected));

test.run();
