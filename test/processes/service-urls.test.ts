import { test } from 'uvu';
import { equal, match, not, throws } from 'uvu/assert';
import { loadConfig } from '../../infra/config.ts';
import { createStoreClient } from '../../infra/eventstore/store-client.ts';
import { nodeUrls, toClientUrl } from '../../infra/eventstore/store-url.ts';

const accepted: Readonly<Record<string, readonly string[]>> = {
  EVENTSTORE_URL: [
    'esdb://node1',
    'esdb://127.0.0.1:2113?tls=false',
    'esdb://node1:2113,node2:2113,node3:2113',
    'esdb://admin:pass%40word@node1:2113,node2:2113?nodePreference=leader',
    'esdb+discover://cluster.example.com:2113?tlsCAFile=%2Fetc%2Fca.crt&keepAliveInterval=-1',
    'esdb+discover://node1,node2',
    'kurrentdb://node1:2113/?tls=false&connectionName=annals',
    'kurrentdb+discover://cluster.example.com',
    'kdb://admin:changeit@node1:2113?tls=false&max_discover_attempts=3',
    'esdb://127.0.0.1:2113?tls=false&connectionName=a%2Bb%3D',
  ],
  DATABASE_URL: ['postgres://db/annals', 'postgresql://annals:p%40ss@db.example.com:5432/annals?sslmode=verify-full', 'postgres://[::1]/a'],
  NATS_URL: ['nats://n1', 'nats://u:p@n1:4222,nats://n2:4222', 'tls://n1, tls://n2', 'nats://[::1]:4222'],
};

test('every documented form of the URL of a service is accepted', () => {
  for (const [name, urls] of Object.entries(accepted)) for (const url of urls) loadConfig({ [name]: url });
});

const SECRET = 'S3CRET';
/** The options that a URL of a cluster gets. */
const OPTIONS = 'keepAliveTimeout=3000&gossipTimeout=2';
const refused: readonly [name: string, url: string, reason: RegExp][] = [
  ['EVENTSTORE_URL', `http://u:${SECRET}@node1`, /must begin with esdb:\/\/, esdb\+discover:\/\/, kurrentdb:\/\/ or kurrentdb\+discover/],
  ['EVENTSTORE_URL', 'node1:2113', /must begin with esdb/],
  ['EVENTSTORE_URL', 'esdb://', /must name a host/],
  ['EVENTSTORE_URL', 'esdb://node1,,node2', /must name a host/],
  ['EVENTSTORE_URL', 'esdb://node1:2113,', /must name a host/],
  ['EVENTSTORE_URL', 'esdb://node1,esdb://node2', /scheme only once/],
  ['EVENTSTORE_URL', 'esdb://node1:2113/annals', /must not have a path/],
  ['EVENTSTORE_URL', 'esdb://node1:http', /port from 1 to 65535/],
  ['EVENTSTORE_URL', 'esdb://node1:65536', /port from 1 to 65535/],
  ['EVENTSTORE_URL', 'esdb://[::1]:2113', /IPv6/],
  ['EVENTSTORE_URL', 'esdb://node 1', /by name or IPv4 address/],
  ['EVENTSTORE_URL', 'esdb://node1;node2', /by name or IPv4 address/],
  ['EVENTSTORE_URL', 'esdb://admin@node1', /<user>:<password> before @/],
  ['EVENTSTORE_URL', `esdb://admin:${SECRET}:x@node1`, /percent-encoded/],
  ['EVENTSTORE_URL', `esdb://admin:${SECRET}/x@node1`, /percent-encoded/],
  ['EVENTSTORE_URL', `esdb://admin:${SECRET}@x@node1`, /percent-encoded/],
  ['EVENTSTORE_URL', 'esdb://node1?tls', /name=value/],
  ['EVENTSTORE_URL', 'esdb://node1?tls=', /name=value/],
  ['EVENTSTORE_URL', 'esdb://node1?tls=no', /true or false/],
  ['EVENTSTORE_URL', 'esdb://node1?tsl=false', /option that the client does not know/],
  ['EVENTSTORE_URL', 'esdb://node1?tlsVerifyCert=false', /tlsCAFile/],
  ['EVENTSTORE_URL', 'esdb://node1?nodePreference=master', /leader, follower, random or readOnlyReplica/],
  ['EVENTSTORE_URL', 'esdb://node1?gossipTimeout=5s', /a number/],
  ['DATABASE_URL', `mysql://u:${SECRET}@db/annals`, /postgres:\/\/ or postgresql:\/\//],
  ['DATABASE_URL', 'localhost', /postgres:\/\//],
  ['DATABASE_URL', `postgres://u:${SECRET}@db1:5432,db2:5432/annals`, /one host.*proxy/],
  ['DATABASE_URL', 'postgres://db1,db2/annals', /one host.*proxy/],
  ['DATABASE_URL', 'postgres://db:port/annals', /port up to 65535/],
  ['DATABASE_URL', `postgres://u:${SECRET}#x@db/annals`, /percent-encoded/],
  ['NATS_URL', 'http://n1', /nats:\/\/ or tls:\/\//],
  ['NATS_URL', 'nats://n1,n2', /nats:\/\/ or tls:\/\/, separated by commas/],
  ['NATS_URL', 'nats://n1,tls://n2', /tls:\/\/ for all servers or for none/],
  ['NATS_URL', 'nats://n1/stream', /must not have a path/],
  ['NATS_URL', `nats://${SECRET}@n1`, /both a user and a password.*NATS_ACCOUNT_SEED/],
  ['NATS_URL', `nats://n1,nats://u:${SECRET}@n2`, /same user and password/],
];

test('each mistake in the URL of a service leads to a line that says what is wrong, without a part of the URL', () => {
  for (const [name, url, reason] of refused)
    throws(
      () => loadConfig({ [name]: url }),
      (error: Error) => {
        match(error.message, reason, url);
        match(error.message, new RegExp(`^${name} (must|has|cannot) `), url);
        not.match(error.message, SECRET);
        return true;
      },
      url,
    );
});

test('the client understands every accepted URL of an event store', async () => {
  const warned: unknown[] = [];
  const { warn } = console;
  console.warn = (...words: unknown[]) => void warned.push(words);
  try {
    for (const url of accepted.EVENTSTORE_URL!.filter((each) => !each.includes('tlsCAFile'))) await createStoreClient(url).dispose();
  } finally {
    console.warn = warn;
  }
  equal(warned, []);
});

test('a URL of KurrentDB becomes one that the client knows, and a discovery of several hosts asks all of them', () => {
  equal(toClientUrl('kurrentdb://a:1?tls=false'), 'esdb://a:1?tls=false');
  equal(toClientUrl('kurrentdb+discover://a'), `esdb+discover://a?${OPTIONS}`);
  equal(toClientUrl('esdb+discover://a,b'), `esdb://a,b?${OPTIONS}`);
  equal(nodeUrls('esdb://a:1?tls=false'), []);
  equal(nodeUrls('kurrentdb://u:p@a:1,b?tls=false'), [
    { host: 'a:1', url: 'esdb://u:p@a:1?tls=false' },
    { host: 'b', url: 'esdb://u:p@b?tls=false' },
  ]);
});

test('a node of a cluster that does not answer counts as lost after 2 or 3 seconds, unless the URL says another time', () => {
  equal(toClientUrl('esdb://a,b'), `esdb://a,b?${OPTIONS}`);
  equal(toClientUrl('esdb://a,b?tls=false'), `esdb://a,b?tls=false&${OPTIONS}`);
  equal(toClientUrl('esdb://a,b?keep_alive_timeout=8000'), 'esdb://a,b?keep_alive_timeout=8000&gossipTimeout=2');
  equal(toClientUrl('esdb://a,b?gossipTimeout=9&keepAliveTimeout=1'), 'esdb://a,b?gossipTimeout=9&keepAliveTimeout=1');
  equal(toClientUrl('esdb://a'), 'esdb://a');
});

test.run();
