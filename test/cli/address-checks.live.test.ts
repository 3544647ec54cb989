// limit: 120
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { equal, is, match, ok } from 'uvu/assert';
import { checkCertificate, checkPublicUrl, judgeClocks, serviceClock } from '../../infra/cli/doctor/address-checks.ts';
import { checkSyncInterval } from '../../infra/health/nats-check.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

/** Starts an HTTP service that answers every request with this JSON and this Date header. @returns its port */
const startService = async (body: object, date = new Date()): Promise<number> => {
  const server = createServer((_, response) => response.writeHead(200, { date: date.toUTCString() }).end(JSON.stringify(body)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterTest(() => void server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
};

/** Starts a TLS service with a self-signed certificate that is valid for this number of days. @returns its URL */
const startTlsService = async (days: number): Promise<string> => {
  const { dir } = createTempDirectory();
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const request = join(dir, 'request.pem');
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'ignore' });
  openssl('req', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=127.0.0.1', '-keyout', key, '-out', request);
  openssl('x509', '-req', '-in', request, '-signkey', key, '-days', String(days), '-out', cert);
  const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterTest(() => void server.close().closeAllConnections());
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const EXPECTED = { isKnown: true, platform: 'ours' } as const;

test('annals doctor warns if the clock of a service differs by more than 2 s, and fails if it differs by more than 30 s', () => {
  const judge = (differenceMs: number) => judgeClocks([{ name: 'Postgres', differenceMs }, null]);
  equal(
    [0, 500, -5_000, 60_000].map((ms) => judge(ms).level),
    ['ok', 'ok', 'warn', 'fail'],
  );
  is(judge(-5_000).message, 'difference to Postgres: -5000 ms; not compared with the service, which does not answer');
  match(judge(-5_000).advice!, 'synchronize the clocks');
});

test('annals doctor compares clocks correctly although the Date header of the service has only whole seconds', async () => {
  const measured = async (aheadMs: number) =>
    (await serviceClock(`http://127.0.0.1:${await startService({}, new Date(Date.now() + aheadMs))}`))!.differenceMs;
  is(await measured(0), 0);
  const ahead = await measured(10_000);
  ok(ahead > 9_000 && ahead < 11_000, `${ahead} ms`);
  is(await serviceClock('http://127.0.0.1:1'), null);
});

test('annals doctor reports the expiry date of the certificate of PUBLIC_URL, and warns if this machine does not trust it', async () => {
  const expired = await checkCertificate(await startTlsService(0));
  is(expired.level, 'fail');
  match(expired.message, /^expired at /);
  const trusted = await checkCertificate(await startTlsService(90));
  is(trusted.level, 'warn');
  match(trusted.message, /^expires in (89|90) days, .*; this machine does not trust it: DEPTH_ZERO_SELF_SIGNED_CERT$/);
  equal(await checkCertificate('http://127.0.0.1'), {
    level: 'none',
    message: 'not checked: PUBLIC_URL does not begin with https://',
    advice: null,
  });
});

test('annals doctor checks that PUBLIC_URL is reachable and belongs to this platform', async () => {
  const check = async (body: object) => checkPublicUrl(`http://127.0.0.1:${await startService(body)}`, true, EXPECTED);
  is((await check({ degraded: [], platform: 'ours' })).level, 'ok');
  const other = await check({ degraded: [], platform: 'theirs' });
  is(other.level, 'fail');
  match(other.message, 'another platform answers');
  match((await check({ hello: 'world' })).message, 'another service answers');
  const unreachable = await checkPublicUrl('http://127.0.0.1:1', true, EXPECTED);
  is(unreachable.level, 'warn');
  match(unreachable.message, 'cannot be reached from this machine');
  is((await checkPublicUrl('http://127.0.0.1:4100', false, EXPECTED)).level, 'none');
});

test('if annals doctor cannot determine how often the NATS server flushes messages to the disk, it says that this was not checked, and why', async () => {
  const { dir } = createTempDirectory();
  match((await checkSyncInterval(dir, 'nats://127.0.0.1')).message, /^not checked: the server of NATS_URL does not report it/);
  match((await checkSyncInterval(dir, undefined)).message, /^not checked: .*nats.conf does not exist yet$/);
});

test.run();
