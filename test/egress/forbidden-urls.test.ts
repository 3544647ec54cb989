import * as assert from 'uvu/assert';
import { EgressError } from '../../infra/egress/egress-error.ts';
import { createGuardedClient, type GuardedClientOptions } from '../../infra/egress/guarded-client.ts';
import { openCanary } from '../fixtures/canary-listener.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

/**
 * URLs that do not lead to the public internet. PORT is replaced by the port of a local server that must not get any
 * request.
 */
const FORBIDDEN_URLS: Readonly<Record<string, readonly string[]>> = {
  'a loopback address': ['https://127.0.0.1:PORT/', 'https://127.1.2.3:PORT/', 'https://[::1]:PORT/', 'https://[0:0:0:0:0:0:0:1]:PORT/'],
  'the unspecified address': ['https://0.0.0.0:PORT/', 'https://0:PORT/', 'https://[::]:PORT/', 'https://0.1.2.3:PORT/'],
  'a loopback address in another notation': [
    'https://2130706433:PORT/',
    'https://0x7f000001:PORT/',
    'https://017700000001:PORT/',
    'https://0x7f.0.0.1:PORT/',
    'https://0177.0.0.1:PORT/',
    'https://0x7f.1:PORT/',
    'https://127.1:PORT/',
    'https://127.0.1:PORT/',
    'https://0177.0.0.0x1:PORT/',
    'https://%31%32%37.0.0.1:PORT/',
    'https://127.0.0.1.:PORT/',
    'https:\\\\127.0.0.1:PORT\\',
    'https:/127.0.0.1:PORT/',
    'https://127.0.0.1\t:PORT/',
    ' https://127.0.0.1:PORT/ ',
  ],
  'a host name in Unicode that is a loopback address': [
    'https://１２７.０.０.１:PORT/',
    'https://①②⑦.⓪.⓪.①:PORT/',
    'https://127。0。0。1:PORT/',
    'https://ⓛocalhost:PORT/',
    'https://LOCALHOST:PORT/',
  ],
  'a loopback name': ['https://localhost:PORT/', 'https://localhost.:PORT/', 'https://a.localhost:PORT/', 'https://a.b.localhost.:PORT/'],
  'a private address': [
    'https://10.0.0.1:PORT/',
    'https://10.255.255.255:PORT/',
    'https://172.16.0.1:PORT/',
    'https://172.31.255.254:PORT/',
    'https://192.168.0.1:PORT/',
    'https://[fc00::1]:PORT/',
    'https://[fd12:3456::1]:PORT/',
  ],
  'a link-local or carrier-grade NAT address': [
    'https://169.254.0.1:PORT/',
    'https://100.64.0.1:PORT/',
    'https://100.127.255.254:PORT/',
    'https://[fe80::1]:PORT/',
    'https://[fec0::1]:PORT/',
  ],
  'the address of a metadata service': [
    'https://169.254.169.254:PORT/latest/meta-data/',
    'https://2852039166:PORT/',
    'https://0xa9fea9fe:PORT/',
    'https://169.254.170.2:PORT/',
    'https://100.100.100.200:PORT/',
    'https://192.0.0.192:PORT/',
    'https://168.63.129.16:PORT/',
    'https://[fd00:ec2::254]:PORT/',
    'https://[::ffff:169.254.169.254]:PORT/',
  ],
  'a reserved, broadcast or multicast address': [
    'https://192.0.2.1:PORT/',
    'https://198.18.0.1:PORT/',
    'https://198.51.100.7:PORT/',
    'https://203.0.113.7:PORT/',
    'https://192.88.99.1:PORT/',
    'https://224.0.0.1:PORT/',
    'https://240.0.0.1:PORT/',
    'https://255.255.255.255:PORT/',
    'https://[2001:db8::1]:PORT/',
    'https://[ff02::1]:PORT/',
    'https://[100::1]:PORT/',
    'https://[4000::1]:PORT/',
  ],
  'an IPv6 address that contains a loopback or private one': [
    'https://[::ffff:127.0.0.1]:PORT/',
    'https://[::ffff:7f00:1]:PORT/',
    'https://[::127.0.0.1]:PORT/',
    'https://[::ffff:0:127.0.0.1]:PORT/',
    'https://[64:ff9b::7f00:1]:PORT/',
    'https://[64:ff9b::10.0.0.1]:PORT/',
    'https://[64:ff9b:1::7f00:1]:PORT/',
    'https://[2002:7f00:1::]:PORT/',
    'https://[2001:0:7f00:1::]:PORT/',
  ],
  'a user name': ['https://example.com@127.0.0.1:PORT/', 'https://user:secret@example.com/', 'https://127.0.0.1:PORT@example.com/'],
  'another scheme or port': [
    'http://example.com/',
    'http://127.0.0.1:PORT/',
    'https://example.com:22/',
    'https://example.com:6379/',
    'file:///etc/passwd',
    'ftp://127.0.0.1:PORT/',
    'gopher://127.0.0.1:PORT/',
    'data:text/plain,x',
    'ws://127.0.0.1:PORT/',
  ],
  'no valid host': [
    'https://',
    'https://[::1',
    'https://256.1.1.1/',
    'https://127.0.0.1.1:PORT/',
    'nonsense',
    '',
    `https://example.com/${'a'.repeat(2_048)}`,
  ],
};

/** DNS results with addresses that are not public. A request to a host name that resolves to them must be refused. */
const PRIVATE_ANSWERS: readonly (readonly string[])[] = [
  ['127.0.0.1'],
  ['::1'],
  ['169.254.169.254'],
  ['10.0.0.5'],
  ['::ffff:127.0.0.1'],
  ['64:ff9b::7f00:1'],
  ['0.0.0.0'],
  ['fe80::1%eth0'],
  ['8.8.8.8', '127.0.0.1'],
  ['2606:4700:4700::1111', '::1'],
];

const failureOf = async (options: GuardedClientOptions, url: string): Promise<string> => {
  const client = createGuardedClient({ connectTimeoutMs: 200, ...options });
  afterTest(client.close);
  try {
    await client.read({ url, totalMs: 2_000 });
    return 'answered';
  } catch (error) {
    return error instanceof EgressError ? error.failure : `${error}`;
  }
};

for (const [kind, urls] of Object.entries(FORBIDDEN_URLS))
  test(`no request is sent to ${kind}`, async () => {
    const canary = await openCanary();
    const resolve = async () => ['127.0.0.1', '::1'];
    const outcomes = [];
    for (const url of urls)
      outcomes.push([url, await failureOf({ ports: [443, canary.port], resolve }, url.replaceAll('PORT', `${canary.port}`))]);
    assert.equal(
      outcomes,
      urls.map((url) => [url, 'forbidden']),
    );
    assert.is(canary.connections(), 0);
  });

test('the list of this file contains at least 80 forbidden URLs', () => assert.ok(Object.values(FORBIDDEN_URLS).flat().length >= 80));

test('no request is sent to a host name if one of its addresses is not public', async () => {
  const canary = await openCanary();
  const url = `https://rebind.example:${canary.port}/`;
  const outcomes = [];
  for (const addresses of PRIVATE_ANSWERS) outcomes.push(await failureOf({ ports: [canary.port], resolve: async () => addresses }, url));
  assert.equal(new Set(outcomes), new Set(['forbidden']));
  assert.is(canary.connections(), 0);
});

test('the listeners of these tests do receive a request if EGRESS_ALLOW contains their address', async () => {
  const canary = await openCanary();
  const url = `https://127.0.0.1:${canary.port}/`;
  assert.is(await failureOf({ allow: ['127.0.0.0/8'], idleTimeoutMs: 200, connectTimeoutMs: 200 }, url), 'unreachable');
  assert.is(canary.connections(), 1);
});

test('requests to public addresses are allowed, also through NAT64', () => {
  const { checkUrl } = createGuardedClient();
  for (const host of ['8.8.8.8', '[2606:4700:4700::1111]', '[64:ff9b::8.8.8.8]', '[::ffff:8.8.8.8]', 'example.com', 'bücher.example'])
    checkUrl(`https://${host}/`);
  checkUrl('https://example.com:8443/');
});

test.run();
