import { connect, type LookupFunction } from 'node:net';
import type { buildConnector } from 'undici';
import * as assert from 'uvu/assert';
import { createGuardedClient } from '../../infra/egress/guarded-client.ts';
import { openCanary } from '../fixtures/canary-listener.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const PUBLIC = '8.8.8.8';

/** Creates a DNS resolver that returns a public address and a loopback address in turn. */
const alternatingResolver = () => {
  let calls = 0;
  return { resolve: async () => [calls++ % 2 === 0 ? PUBLIC : '127.0.0.1'], calls: () => calls };
};

type Lookup = { readonly lookup: LookupFunction };

const addressesOf = ({ lookup }: Lookup): Promise<string[]> =>
  new Promise((resolve) =>
    lookup('rebind.example', { all: true }, (_, all) => resolve((all as { address: string }[]).map(({ address }) => address))),
  );

test('a host name is resolved once per connection, and the connection goes only to an address that was checked after resolving', async () => {
  const resolver = alternatingResolver();
  const used: string[] = [];
  const build = ((options: Lookup) => (_: unknown, callback: buildConnector.Callback) => {
    void (async () => {
      for (let look = 0; look < 3; look++) used.push(...(await addressesOf(options)));
      callback(new Error('not connected'), null);
    })();
  }) as unknown as typeof buildConnector;
  const client = createGuardedClient({ resolve: resolver.resolve, build });
  afterTest(client.close);
  const failures = [];
  for (let request = 0; request < 10; request++)
    failures.push(await client.read({ url: 'https://rebind.example/' }).catch((error: { failure: string }) => error.failure));
  assert.equal(failures, Array(5).fill(['unreachable', 'forbidden']).flat());
  assert.equal(new Set(used), new Set([PUBLIC]));
  assert.is(resolver.calls(), 10);
});

test('if a connection leads to an address that differs from the checked one, it is closed before the request is sent', async () => {
  const canary = await openCanary();
  const build = (() => (_: unknown, callback: buildConnector.Callback) => {
    const socket = connect(canary.port, '127.0.0.1', () => callback(null, socket));
  }) as unknown as typeof buildConnector;
  const client = createGuardedClient({ resolve: async () => [PUBLIC], build });
  afterTest(client.close);
  const failure = await client.read({ url: 'https://rebind.example/' }).catch((error: { failure: string }) => error.failure);
  assert.is(failure, 'forbidden');
  assert.equal([canary.connections(), canary.bytes()], [1, 0]);
});

test.run();
