import type { Context } from 'hono';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { RATE_LIMIT_POLICIES } from '../../domain/access/rate-limit-policy.ts';
import { clientAddress, isLocalRequest, isLoopback } from '../../infra/http/client-address.ts';
import { serveMetricsAccess } from '../../infra/http/metrics-server.ts';
import { createRateLimiter } from '../../infra/ratelimit/limiter.ts';

/** Returns a request that comes from this IP address and has this X-Forwarded-For header. */
const requestFrom = (remoteAddress: string | undefined, forwarded?: string) =>
  ({ env: { incoming: { socket: { remoteAddress } } }, req: { header: () => forwarded } }) as unknown as Context;

const PROXIES = ['10.0.0.0/8', '192.0.2.1', '2001:db8:aa::/48'];

const CASES: readonly (readonly [name: string, peer: string | undefined, forwarded: string | undefined, client: string | null])[] = [
  ['no socket', undefined, '203.0.113.5', null],
  ['a peer that is not a proxy sends the header', '203.0.113.9', '203.0.113.5', '203.0.113.9'],
  ['an IPv4 client on an IPv6 socket', '::ffff:203.0.113.9', '203.0.113.5', '203.0.113.9'],
  ['a proxy', '10.1.2.3', '203.0.113.5', '203.0.113.5'],
  ['an IPv4 proxy on an IPv6 socket', '::ffff:10.1.2.3', '203.0.113.5', '203.0.113.5'],
  ['a client that invented a part of the header', '10.1.2.3', '127.0.0.1, 198.51.100.7, 203.0.113.5', '203.0.113.5'],
  ['a client that claims to be a proxy', '10.1.2.3', '127.0.0.1, 10.9.9.9, 203.0.113.5', '203.0.113.5'],
  ['a chain of proxies', '10.1.2.3', '127.0.0.1, 203.0.113.5, 192.0.2.1, 10.4.4.4', '203.0.113.5'],
  ['only proxies', '10.1.2.3', '10.4.4.4, 192.0.2.1', '10.4.4.4'],
  ['an IPv6 proxy and an IPv6 client', '2001:db8:aa:1::1', '2001:db8:bb::7', '2001:db8:bb::7'],
  ['an IPv4-mapped client address', '10.1.2.3', '::ffff:203.0.113.5', '203.0.113.5'],
  ['a proxy without the header', '10.1.2.3', undefined, '10.1.2.3'],
  ['a client address with its port', '10.1.2.3', '127.0.0.1, 203.0.113.5:4321', '203.0.113.5'],
  ['an IPv6 client address with its port', '10.1.2.3', '[2001:db8:bb::7]:4321, 10.4.4.4:80', '2001:db8:bb::7'],
  ['an IPv6 client address in brackets', '10.1.2.3', '[2001:db8:bb::7]', '2001:db8:bb::7'],
  ['a value that is not an address', '10.1.2.3', '203.0.113.5, unknown', '10.1.2.3'],
  ['a value that is not an address behind a proxy', '10.1.2.3', '203.0.113.5, _hidden, 10.4.4.4', '10.4.4.4'],
  ['a host name with its port', '10.1.2.3', 'localhost:80', '10.1.2.3'],
  ['an address followed by other text', '10.1.2.3', "203.0.113.5' or 1=1", '10.1.2.3'],
];

test("the client's IP address is the last address in X-Forwarded-For that is not a trusted proxy", () => {
  const address = clientAddress(PROXIES);
  for (const [name, peer, forwarded, client] of CASES) assert.is(address(requestFrom(peer, forwarded)), client, name);
});

test('without trusted proxies, X-Forwarded-For is ignored', () => {
  const address = clientAddress();
  assert.is(address(requestFrom('10.1.2.3', '203.0.113.5')), '10.1.2.3');
  assert.is(address(requestFrom('127.0.0.1', '203.0.113.5')), '127.0.0.1');
});

test('only loopback IP addresses count as this machine', () => {
  for (const own of ['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1']) assert.ok(isLoopback(own), own);
  for (const other of [null, '', '128.0.0.1', '10.0.0.1', '::2', '1270.0.0.1', 'localhost'])
    assert.not.ok(isLoopback(other), String(other));
});

test('a request that a proxy on this machine forwards does not count as local, whether or not the proxy is trusted', () => {
  for (const address of [clientAddress(), clientAddress(['127.0.0.1'])]) {
    const isLocal = isLocalRequest(address);
    assert.ok(isLocal(requestFrom('127.0.0.1')));
    for (const forwarded of ['203.0.113.5', '127.0.0.1', 'unknown', ''])
      assert.not.ok(isLocal(requestFrom('127.0.0.1', forwarded)), forwarded);
    assert.not.ok(isLocal(requestFrom('203.0.113.5')));
  }
});

test('annals serve shows its metrics only on the same machine, and not at all if PUBLIC_URL is another machine', () => {
  const config = { trustedProxies: [], metricsToken: 'secret' };
  const mayRead = (publicUrl: string) => serveMetricsAccess({ ...config, publicUrl })(requestFrom('127.0.0.1'));
  assert.ok(mayRead('http://127.0.0.1:4100'));
  assert.not.ok(mayRead('https://annals.example.com'));
});

/** Counts how many requests with invalid credentials from these IP addresses the rate limiter allows. */
const countAllowed = async (addresses: readonly string[]): Promise<number> => {
  const limits = createRateLimiter();
  let passed = 0;
  for (const address of addresses) if ((await limits.countFailedCredential(address, 1_000_000)) === null) passed++;
  return passed;
};

test('IP addresses of the same IPv6 /64 network count as one client, however they are written; different /64 networks count as different clients', async () => {
  const { quota } = RATE_LIMIT_POLICIES.badCredentials;
  const many = Array.from({ length: 3 * quota }, (_, index) => (index + 1).toString(16));
  for (const prefix of ['2001:db8::', '2001:db8:0:0:9:9:9:', '2001:db8::a:b:c:', '2001:db8:1:2::', '2001:db8:1:2:3:4:5:', 'fe80::', '::'])
    assert.is(await countAllowed(many.map((last) => `${prefix}${last}`)), quota, prefix);
  const forms = ['2001:db8::1', '2001:DB8:0:0:0:0:0:2', '2001:0db8::3', '2001:db8:0:0::4', '2001:db8:0:0:ffff:1:2:3'];
  assert.is(await countAllowed(many.map((_, index) => forms[index % forms.length]!)), quota);
  assert.is(await countAllowed(many.map((group) => `2001:db8:0:${group}::1`)), 3 * quota);
  assert.is(await countAllowed(many.map((group) => `2001:db8:${group}::1`)), 3 * quota);
});

test.run();
