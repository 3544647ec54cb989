import { equal, is, match } from 'uvu/assert';
import { checkStore } from '../../infra/health/health-checks.ts';
import { explainStoreFailure } from '../../infra/health/store-failure.ts';
import { freePort } from '../../infra/supervision/ports.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { startTlsFront } from '../fixtures/tls-front.ts';
import { serveHere, twoHosts } from '../fixtures/two-hosts.ts';

const findingOf = async (url: string) =>
  checkStore(url).then(
    ({ result }) => result,
    (error: unknown) => explainStoreFailure(url, error, 'start it'),
  );

test('annals doctor says which mistake in EVENTSTORE_URL keeps a node from answering, and how to correct it', async () => {
  const { port } = await serveHere();
  const [own, other, none] = [await startTlsFront(port), await startTlsFront(port, 'other.example'), await freePort()];
  const caFile = (front: { caFile: string }): string => `tlsCAFile=${encodeURIComponent(front.caFile)}`;
  const cases: readonly [url: string, message: RegExp, advice: RegExp][] = [
    [`esdb://127.0.0.1:${port}`, /not its IP address/, /tls=false/],
    [`esdb://localhost:${port}`, /answers without TLS/, /tls=false/],
    [`esdb://localhost:${own.port}`, /does not trust the certificate/, /tlsCAFile/],
    [`esdb://localhost:${other.port}?${caFile(other)}`, /for another host name/, /as in its certificate/],
    [`esdb://localhost:${own.port}?tls=false`, /closes the connection/, /remove tls=false/],
    [`esdb://no-such-host.invalid:${port}?tls=false`, /host name is unknown/, /correct the host/],
    [`esdb://127.0.0.1:${none}?tls=false`, /^connect ECONNREFUSED/, /^start it$/],
    [`esdb://localhost:${own.port}?tlsCAFile=%2Fnone%2Fca.crt`, /file with a certificate or a key does not exist/, /correct tlsCAFile/],
  ];
  for (const [url, message, advice] of cases) {
    const found = await findingOf(url);
    is(found.level, 'fail', url);
    match(found.message, message, url);
    match(found.advice!, advice, url);
  }
  is((await findingOf(`esdb://localhost:${own.port}?${caFile(own)}`)).level, 'ok');
});

test('if no node of a cluster answers, annals doctor says for each of them why', async () => {
  const { url, serve } = await twoHosts();
  const [, first, second] = /\/\/([^,]+),([^?]+)/.exec(url)!;
  const found = await findingOf(url);
  equal(found.message, `${first}: connect ECONNREFUSED ${first}; ${second}: connect ECONNREFUSED ${second}`);
  await serve(0);
  is((await findingOf(url)).level, 'ok');
  const overTls = await findingOf(url.replace('tls=false&', ''));
  match(overTls.message, `${first}: TLS needs the host name of the node`);
});

test.run();
