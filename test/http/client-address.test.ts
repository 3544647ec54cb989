import type { Context } from 'hono';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import { clientAddress, isLocalRequest, isLoopback } from '../../infra/http/client-address.ts';
import { createRateLimiter } from '../../infra/ratelimit/limiter.ts';

/** A request of a peer, with what its header says it was sent on for. */
const from = (remoteAddress: string | undefined, forwarded?: string) =>
  ({ env: { incoming: { socket: { remoteAddress } } }, req: { header: () => forwarded } }) as unknown as Context;

const PROXIES = ['10.0.0.0/8', '192.0.2.1', '2001:db8:aa::/48'];

const SEEN: readonly (readonly [what: string, peer: string | undefined, forwarded: string | undefined, client: string | null])[] = [
  ['nobody is at the other end', undefined, '203.0.113.5', null],
  ['a peer that is no proxy says who it is for', '203.0.113.9', '203.0.113.5', '203.0.113.9'],
  ['a client that came by IPv6 sockets', '::ffff:203.0.113.9', '203.0.113.5', '203.0.113.9'],
  ['a proxy', '10.1.2.3', '203.0.113.5', '203.0.113.5'],
  ['a proxy that came by IPv6 sockets', '::ffff:10.1.2.3', '203.0.113.5', '203.0.113.5'],
  ['a client that made up some of it', '10.1.2.3', '127.0.0.1, 198.51.100.7, 203.0.113.5', '203.0.113.5'],
  ['a client that claims to be a proxy', '10.1.2.3', '127.0.0.1, 10.9.9.9, 203.0.113.5', '203.0.113.5'],
  ['proxies behind each other', '10.1.2.3', '127.0.0.1, 203.0.113.5, 192.0.2.1, 10.4.4.4', '203.0.113.5'],
  ['proxies alone', '10.1.2.3', '10.4.4.4, 192.0.2.1', '10.4.4.4'],
  ['a proxy of IPv6 and a client of IPv6', '2001:db8:aa:1::1', '2001:db8:bb::7', '2001:db8:bb::7'],
  ['a client by IPv4 in IPv6', '10.1.2.3', '::ffff:203.0.113.5', '203.0.113.5'],
  ['a proxy that says nothing', '10.1.2.3', undefined, '10.1.2.3'],
  ['a client by its port', '10.1.2.3', '127.0.0.1, 203.0.113.5:4321', '203.0.113.5'],
  ['a client of IPv6 by its port', '10.1.2.3', '[2001:db8:bb::7]:4321, 10.4.4.4:80', '2001:db8:bb::7'],
  ['a client of IPv6 in brackets', '10.1.2.3', '[2001:db8:bb::7]', '2001:db8:bb::7'],
  ['what is no address', '10.1.2.3', '203.0.113.5, unknown', '10.1.2.3'],
  ['what is no address behind a proxy', '10.1.2.3', '203.0.113.5, _hidden, 10.4.4.4', '10.4.4.4'],
  ['a name by its port', '10.1.2.3', 'localhost:80', '10.1.2.3'],
  ['an address with more behind it', '10.1.2.3', "203.0.113.5' or 1=1", '10.1.2.3'],
];

test('the client is the last one before the trusted proxies, whatever it says of itself', () => {
  const address = clientAddress(PROXIES);
  for (const [what, peer, forwarded, client] of SEEN) assert.is(address(from(peer, forwarded)), client, what);
});

test('without trusted proxies nothing that is said counts', () => {
  const address = clientAddress();
  assert.is(address(from('10.1.2.3', '203.0.113.5')), '10.1.2.3');
  assert.is(address(from('127.0.0.1', '203.0.113.5')), '127.0.0.1');
});

test('only this machine is this machine', () => {
  for (const own of ['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1']) assert.ok(isLoopback(own), own);
  for (const other of [null, '', '128.0.0.1', '10.0.0.1', '::2', '1270.0.0.1', 'localhost'])
    assert.not.ok(isLoopback(other), String(other));
});

test('what a proxy on this machine sends on was not asked here, whether the proxy is trusted or not', () => {
  for (const address of [clientAddress(), clientAddress(['127.0.0.1'])]) {
    const isHere = isLocalRequest(address);
    assert.ok(isHere(from('127.0.0.1')));
    for (const forwarded of ['203.0.113.5', '127.0.0.1', 'unknown', '']) assert.not.ok(isHere(from('127.0.0.1', forwarded)), forwarded);
    assert.not.ok(isHere(from('203.0.113.5')));
  }
});

/** Of so many guesses from addresses, how many were let through before one was too many. */
const guessed = async (addresses: readonly string[]): Promise<number> => {
  const limits = createRateLimiter();
  let passed = 0;
  for (const address of addresses) if ((await limits.countFailedCredential(address, 1_000_000)) === null) passed++;
  return passed;
};

test('an IPv6 network of 64 bits is one client, however its addresses are written; two networks are two', async () => {
  const { quota } = RATE_LIMIT_POLICIES.badCredentials;
  const many = Array.from({ length: 3 * quota }, (_, index) => (index + 1).toString(16));
  for (const prefix of ['2001:db8::', '2001:db8:0:0:9:9:9:', '2001:db8::a:b:c:', '2001:db8:1:2::', '2001:db8:1:2:3:4:5:', 'fe80::', '::'])
    assert.is(await guessed(many.map((last) => `${prefix}${last}`)), quota, prefix);
  const forms = ['2001:db8::1', '2001:DB8:0:0:0:0:0:2', '2001:0db8::3', '2001:db8:0:0::4', '2001:db8:0:0:ffff:1:2:3'];
  assert.is(await guessed(many.map((_, index) => forms[index % forms.length]!)), quota);
  assert.is(await guessed(many.map((group) => `2001:db8:0:${group}::1`)), 3 * quota);
  assert.is(await guessed(many.map((group) => `2001:db8:${group}::1`)), 3 * quota);
});

test.run();
